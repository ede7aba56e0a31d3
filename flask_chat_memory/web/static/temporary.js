class PageHistory {
  constructor() {
    this.messages = []
  }

  read() {
    return this.messages
  }

  add(message) {
    this.messages.push(message)
  }
}

class ChatMemoryTemporary extends HTMLElement {
  async connectedCallback() {
    if (this.widget) return
    this.widget = this.closest("chat-memory")
    await customElements.whenDefined("chat-memory")
    this.button = this.firstElementChild
    this.button.onclick = () => (this.isOn() ? this.leave() : this.begin())
    new MutationObserver(() => this.show()).observe(this.widget.input, { attributeFilter: ["disabled"] })
  }

  isOn() {
    return this.widget.history !== this.widget.kept
  }

  show() {
    this.button.ariaPressed = this.widget.toggleAttribute("data-temporary", this.isOn())
  }

  async begin() {
    const { widget } = this
    this.left = widget.thread
    await widget.restart()
    widget.thread = null
    widget.history = new PageHistory()
    this.show()
    widget.say(widget.labels.temporary_begun)
  }

  async leave() {
    const { widget } = this
    await widget.restart()
    widget.thread = this.left
    if (this.left) await widget.reload()
    widget.resume()
    widget.say(widget.labels.temporary_left)
  }
}

customElements.define("chat-memory-temporary", ChatMemoryTemporary)
