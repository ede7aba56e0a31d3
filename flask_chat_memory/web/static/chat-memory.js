import { BrowserHistory, forget } from "./browser_history.js"
import { readEvents } from "./events.js"
import { MessageLog } from "./message_log.js"

class ChatMemory extends HTMLElement {
  connectedCallback() {
    addEventListener("storage", this)
    if (!this.log) this.start()
  }

  disconnectedCallback() {
    removeEventListener("storage", this)
    this.abort()
  }

  part(name) {
    return this.querySelector(".chat-memory-" + name)
  }

  start() {
    const { labels, mode, threadId, cursor, storageKey } = this.dataset
    this.labels = JSON.parse(labels)
    this.thread = threadId ?? null
    this.cursor = cursor
    this.input = this.part("input")
    this.scroll = this.part("scroll")
    this.log = new MessageLog(this)
    if (mode === "client") {
      this.kept = this.history = new BrowserHistory(storageKey, "adopt" in this.dataset)
      this.showStored()
    } else forget(storageKey)
    this.listen()
    this.showState()
    this.resume()
  }

  listen() {
    this.addEventListener("click", ({ target: { dataset } }) => {
      if (dataset.action) this[dataset.action](dataset.url)
    })
    this.input.addEventListener("keydown", (event) => {
      const isComposing = event.isComposing || event.keyCode === 229 // Safari
      if (event.key !== "Enter" || event.shiftKey || isComposing) return
      event.preventDefault()
      this.send()
    })
    this.scroll.addEventListener("scroll", () => this.scroll.scrollTop < 40 && this.showEarlier())
  }

  showState() {
    const isBusy = !!this.running
    for (const control of this.querySelectorAll("button, textarea")) control.disabled = this.restarting
    this.scroll.ariaBusy = isBusy
    this.part("send").hidden = isBusy
    this.part("stop").hidden = !isBusy
    this.part("earlier").hidden = !this.cursor
  }

  say(status, alert = "") {
    this.part("status").textContent = status
    this.part("alert").textContent = alert
  }

  async attempt(work) {
    try {
      await work()
      return "complete"
    } catch ({ name, sentence = this.labels.network }) {
      const isStopped = name === "AbortError"
      this.say("", isStopped ? "" : sentence)
      return isStopped ? "stopped" : "failed"
    }
  }

  async readReply(response) {
    const reply = await response.json().catch(() => ({ error: this.labels.error }))
    if (!response.ok || reply.error) throw { sentence: reply.error }
    return reply
  }

  async post(url, body, signal, method = "POST", isAgain) {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" }
    if (this.dataset.csrfToken) headers["X-CSRFToken"] = this.dataset.csrfToken
    const response = await fetch(url, { method, headers, signal, body: JSON.stringify(body) })
    const token = response.headers.get("Chat-Memory-Token")
    if (!token || isAgain) return response
    this.dataset.csrfToken = token
    return this.post(url, body, signal, method, true)
  }

  send() {
    const text = this.input.value.trim()
    if (!text || this.running || this.restarting) return
    this.input.value = ""
    this.run(() => this.exchange(text))
    this.input.focus()
  }

  async run(work) {
    this.controller = new AbortController()
    this.say(this.labels.answering)
    this.running = work()
    this.showState()
    await this.running
    this.running = null
    this.showState()
  }

  abort() {
    this.controller?.abort()
  }

  stop() {
    this.input.focus()
    this.attend("stop")
  }

  resume() {
    if (this.querySelector("[data-status=pending]")) this.attend("resume")
  }

  attend(name) {
    import("./running.js").then((running) => running[name](this), () => this.abort())
  }

  async exchange(text) {
    const turn = (this.turn = this.startTurn(text))
    const outcome = await this.attempt(() => this.receive(turn))
    const status = turn.status ?? outcome
    turn.answer.finish(status)
    if (turn.id || status === "stopped") await this.keep(turn, status)
    else this.takeBack(turn)
  }

  startTurn(text) {
    const retried = this.unsent?.text === text && this.unsent
    if (retried) retried.bubble.remove()
    this.unsent = null
    const bubble = this.log.add({ role: "user", text })
    const answer = this.log.startAnswer()
    return { text, key: retried.key, bubble, answer }
  }

  async receive(turn) {
    const earlier = this.history?.read().filter(({ text }) => text) ?? []
    const messages = [...earlier, { role: "user", text: turn.text }]
    await this.request(turn, this.dataset.messagesUrl, { messages, temporary: this.history !== this.kept })
  }

  async request(turn, url, body) {
    turn.key ??= crypto.getRandomValues(new Uint32Array(4)).join("-")
    const sent = { ...body, key: turn.key, thread_id: this.thread }
    const response = await this.post(url, sent, this.controller.signal)
    const read = (name) => response.headers.get("Chat-Memory-" + name)
    turn.id = read("Question")
    if (turn.id) {
      turn.thread = read("Thread")
      turn.notice = read("Notice")
      turn.bubble.dataset.id = turn.id
      turn.answer.bubble.dataset.id = read("Answer")
      this.history?.add({ id: turn.id, role: "user", text: turn.text })
    }
    if (!/event-stream/.test(response.headers.get("Content-Type"))) await this.readReply(response)
    await this.read(turn, response)
  }

  async read(turn, response) {
    for await (const data of readEvents(response.body)) {
      if (data === "[DONE]") return this.say(this.labels[turn.status ?? "answered"])
      const { text, error, status } = JSON.parse(data)
      if (error) throw { sentence: error }
      turn.status = status
      turn.answer.append(text)
    }
    throw {}
  }

  async keep({ id, answer: { bubble, text }, thread, notice }, status) {
    if (notice === "not-stored") this.log.note(bubble, this.labels.not_stored)
    if (id && this.history) {
      await this.history.add({ id: bubble.dataset.id, role: "ai", text, status }, id)
      this.showStored()
    }
    const isOther = thread && this.thread && thread !== this.thread
    this.thread = thread ?? this.thread
    if (isOther) await this.reload()
  }

  reload() {
    return this.attempt(async () => this.log.show(await this.load()))
  }

  takeBack(turn) {
    turn.answer.bubble.remove()
    this.log.mark(turn.bubble, "not_sent")
    this.unsent = turn
    this.input.value ||= turn.text
  }

  async load(before) {
    const query = new URLSearchParams()
    if (before) query.set("before", before)
    if (this.thread) query.set("thread_id", this.thread)
    const page = await this.readReply(await fetch(`${this.dataset.historyUrl}?${query}`))
    this.cursor = page.has_more && page.cursor
    this.showState()
    return [...(this.cursor ? [] : this.greeting()), ...page.messages]
  }

  showEarlier() {
    if (!this.cursor) return
    const show = async () => this.log.prepend(await this.load(this.cursor))
    this.loading ??= this.attempt(show).finally(() => (this.loading = null))
  }

  greeting() {
    const text = this.dataset.greeting
    return text ? [{ role: "ai", text }] : []
  }

  showStored() {
    let previous
    for (const message of this.history.read()) {
      const bubble = this.log.find(message.id) ?? this.log.add(message)
      if (previous && previous.nextElementSibling !== bubble) previous.after(bubble)
      previous = bubble
    }
  }

  handleEvent({ key, newValue }) {
    if (!this.kept || (key && key !== this.dataset.storageKey)) return
    if (newValue) this.showStored()
    else this.clear()
  }

  async restart(url) {
    this.restarting = true
    this.showState()
    this.abort()
    await this.running
    await this.loading
    await this.attempt(async () => {
      const body = { thread_id: this.thread }
      if (url) this.thread = (await this.readReply(await this.post(url, body))).thread_id
      if (this.kept) forget(this.dataset.storageKey)
      this.clear()
    })
    this.restarting = false
    this.showState()
    this.input.focus()
  }

  clear() {
    this.abort()
    this.unsent = this.cursor = null
    this.history = this.kept
    this.say(this.labels.cleared)
    this.log.show(this.greeting())
  }
}

customElements.define("chat-memory", ChatMemory)
