class ChatMemoryTools extends HTMLElement {
  async connectedCallback() {
    if (this.widget) return
    this.widget = this.closest("chat-memory")
    await customElements.whenDefined("chat-memory")
    this.labels = this.widget.labels
    this.list = this.widget.log.list
    for (const type of ["click", "submit", "keydown"]) this.list.addEventListener(type, this)
    const watcher = new MutationObserver(() => this.show())
    watcher.observe(this.list, { childList: true })
    watcher.observe(this.widget.part("stop"), { attributeFilter: ["hidden"] })
    this.show()
  }

  copy(name) {
    return this.querySelector(".chat-memory-tools-" + name).content.firstElementChild.cloneNode(true)
  }

  show() {
    if (this.widget.history) return // nothing of it is on the server
    for (const bubble of this.list.children) if (bubble.dataset.id) this.equip(bubble)
  }

  equip(bubble) {
    const { role, rating, version, versions } = bubble.dataset
    if (!bubble.querySelector(".chat-memory-tools")) bubble.lastElementChild.before(this.copy(role))
    for (const button of bubble.querySelectorAll("[data-act=rate]")) {
      button.ariaPressed = button.dataset.rating === rating
    }
    if (!versions) return
    const all = versions.split(",")
    const turner = bubble.querySelector(".chat-memory-versions")
    turner.hidden = false
    turner.children[1].textContent = `${all.indexOf(version) + 1}/${all.length}`
  }

  handleEvent(event) {
    const { target, type } = event
    const bubble = target.closest(".chat-memory-message")
    const { act } = target.dataset
    if (type === "keydown") this.type(bubble, event)
    else if (type === "submit") {
      event.preventDefault()
      this.save(bubble)
    } else if (act) this[act](bubble, target)
  }

  send(url, body) {
    const { widget } = this
    const sent = { thread_id: widget.thread, ...body }
    return widget.post(url, sent).then((response) => widget.readReply(response))
  }

  rate(bubble, button) {
    const { widget } = this
    const isOn = button.ariaPressed === "true"
    const rating = isOn ? null : Number(button.dataset.rating)
    return widget.attempt(async () => {
      await this.send(this.dataset.feedbackUrl, { message_id: bubble.dataset.id, rating })
      bubble.dataset.rating = rating ?? ""
      this.equip(bubble)
      widget.say(isOn ? this.labels.unrated : this.labels.rated)
    })
  }

  turn(bubble, { dataset: { step } }) {
    const { widget } = this
    const { version, versions } = bubble.dataset
    const all = versions.split(",")
    const next = all.at((all.indexOf(version) + Number(step)) % all.length)
    if (widget.running) return
    return widget.attempt(async () => {
      await this.send(this.dataset.switchUrl, { version: Number(next) })
      await widget.reload()
      this.show()
      const shown = this.list.querySelector(`[data-version="${next}"]`)
      if (!shown) return
      shown.querySelector(`[data-step="${step}"]`).focus()
      widget.say(shown.querySelector(".chat-memory-versions").textContent)
    })
  }

  regenerate(bubble) {
    if (!this.widget.running) this.ask(bubble.previousElementSibling ?? bubble, [bubble], this.dataset.regenerateUrl)
  }

  // What comes after the question gives way to another answer, and comes back if that is refused.
  async ask(question, after, url, body) {
    const { widget } = this
    for (const bubble of after) bubble.remove()
    const turn = (widget.turn = { bubble: question, answer: widget.log.startAnswer() })
    widget.input.focus()
    await widget.run(async () => {
      const outcome = await widget.attempt(() => widget.request(turn, url, body))
      turn.answer.finish(turn.status ?? outcome)
      if (turn.id) return widget.reload()
      turn.answer.bubble.remove()
      this.list.append(...after)
    })
    widget.resume()
    return !!turn.id
  }

  edit(bubble) {
    const [, text] = bubble.children
    const editor = this.copy("editor")
    const field = editor.firstElementChild
    field.value = text.textContent
    text.hidden = bubble.querySelector(".chat-memory-tools").hidden = true
    text.after(editor)
    field.focus()
    return field
  }

  close(bubble) {
    bubble.querySelector(".chat-memory-editor").remove()
    for (const part of bubble.children) part.hidden = false
  }

  cancel(bubble) {
    this.close(bubble)
    bubble.querySelector("[data-act=edit]").focus()
  }

  async save(bubble) {
    const shown = bubble.querySelector(".chat-memory-text")
    const before = shown.textContent
    const text = bubble.querySelector("textarea").value.trim()
    if (!text || this.widget.running) return
    this.close(bubble)
    shown.textContent = text
    const bubbles = [...this.list.children]
    const after = bubbles.slice(bubbles.indexOf(bubble) + 1)
    if (await this.ask(bubble, after, this.dataset.editUrl, { question_id: bubble.dataset.id, text })) return
    shown.textContent = before
    this.edit(bubble).value = text
  }

  type(bubble, event) {
    const isComposing = event.isComposing || event.keyCode === 229
    if (event.target.type !== "textarea" || isComposing) return
    if (event.key === "Escape") this.cancel(bubble)
    if (event.key !== "Enter" || event.shiftKey) return
    event.preventDefault()
    this.save(bubble)
  }
}

customElements.define("chat-memory-tools", ChatMemoryTools)
