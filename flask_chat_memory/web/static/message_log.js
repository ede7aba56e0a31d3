import { markdownPainter } from "./markdown.js"

export class MessageLog {
  constructor(widget) {
    const scroll = (this.scroll = widget.scroll)
    this.labels = widget.labels
    this.list = widget.part("messages")
    this.template = widget.part("template").content.firstElementChild
    this.isMarkdown = "markdown" in widget.dataset
    scroll.addEventListener("scroll", () => {
      this.isFollowing = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40
    })
    new ResizeObserver(() => this.follow()).observe(scroll)
    for (const text of this.list.querySelectorAll("[data-role=ai] > .chat-memory-text:not(.chat-memory-rich)")) {
      this.painter(text)(text.textContent)
    }
    this.follow(true)
  }

  find(id) {
    return [...this.list.children].find((bubble) => bubble.dataset.id === id)
  }

  painter(element) {
    if (!this.isMarkdown) return (text) => (element.textContent = text)
    element.classList.add("chat-memory-rich")
    return markdownPainter(element)
  }

  add({ role, text, id = "", status, version = "", versions = "", rating = "" }) {
    const bubble = this.template.cloneNode(true)
    const [speaker, body] = bubble.children
    Object.assign(bubble.dataset, { role, id, version, versions, rating })
    speaker.textContent = this.labels[role]
    body.textContent = text
    if (role === "ai") this.painter(body)(text)
    this.list.append(bubble)
    this.mark(bubble, status, text)
    return bubble
  }

  startAnswer() {
    const bubble = this.add({ role: "ai", text: "", status: "streaming" })
    const paint = this.painter(bubble.children[1])
    let frame
    let pause
    const show = (now) => {
      frame = null
      if (now < pause) return answer.append("")
      paint(answer.text)
      this.follow()
      pause = now + 4 * (performance.now() - now) // a slow paint leaves time to the reader
    }
    const answer = {
      bubble,
      text: "",
      append: (piece = "") => {
        answer.text += piece
        frame ??= requestAnimationFrame(show)
      },
      finish: (status) => {
        cancelAnimationFrame(frame)
        show(Infinity)
        this.mark(bubble, status, answer.text)
      },
    }
    this.follow(true)
    return answer
  }

  mark(bubble, status, text) {
    const isEmpty = !text && /complete|partial|failed/.test(status)
    bubble.dataset.status = status ?? ""
    this.note(bubble, this.labels[isEmpty ? "no_answer" : status])
  }

  note(bubble, text = "") {
    bubble.lastElementChild.textContent = text
    this.follow()
  }

  prepend(messages) {
    const below = this.scroll.scrollHeight - this.scroll.scrollTop
    this.isFollowing = false
    this.list.prepend(...messages.map((message) => this.add(message)))
    this.scroll.scrollTop = this.scroll.scrollHeight - below
  }

  show(messages) {
    this.list.textContent = ""
    for (const message of messages) this.add(message)
    this.follow(true)
  }

  follow(isFollowing = this.isFollowing) {
    this.isFollowing = isFollowing
    if (isFollowing) this.scroll.scrollTop = this.scroll.scrollHeight
  }
}
