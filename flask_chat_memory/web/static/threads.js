class ChatMemoryThreads extends HTMLElement {
  async connectedCallback() {
    if (this.widget) return
    this.widget = this.closest("chat-memory")
    await customElements.whenDefined("chat-memory")
    this.labels = this.widget.labels
    this.list = this.part("list")
    this.more = this.part("more")
    this.archived = this.part("archived")
    this.toggle = this.part("toggle")
    this.toggle.onclick = () => this.show(!("open" in this.dataset))
    this.more.onclick = () => this.load(this.cursor)
    this.archived.onclick = () => {
      this.archived.ariaPressed = !this.isArchive
      this.cancel()
      this.load()
    }
    this.part("search")?.addEventListener("focus", () => this.prepareSearch(), { once: true })
    this.list.addEventListener("click", this)
    this.list.addEventListener("submit", this)
    this.list.addEventListener("keydown", this)
    this.watch()
    this.load()
  }

  part(name) {
    return this.querySelector(".chat-memory-threads-" + name)
  }

  get isArchive() {
    return this.archived.ariaPressed === "true"
  }

  watch() {
    const watcher = new MutationObserver(() => this.follow())
    watcher.observe(this.widget.input, { attributeFilter: ["disabled"] })
    watcher.observe(this.widget.part("stop"), { attributeFilter: ["hidden"] })
  }

  // After an answer the thread comes to the top; after a reset or in a new thread the list is another one.
  follow() {
    const { running, restarting, thread } = this.widget
    const before = this.state
    this.state = restarting ? "restarting" : running && "answering"
    if (before && !this.state && !this.isOpening) {
      const item = before === "answering" && this.find(thread)
      const first = this.list.querySelector("li:not([data-pinned])")
      if (!item) this.load()
      else if (first && item !== first && !("pinned" in item.dataset)) first.before(item)
    }
    this.mark()
  }

  mark() {
    for (const item of this.list.children) {
      item.querySelector("[data-act=open]").ariaCurrent = item.dataset.id === this.widget.thread ? "true" : null
    }
  }

  show(isOpen) {
    this.toggleAttribute("data-open", isOpen)
    this.toggle.ariaExpanded = isOpen
  }

  find(id) {
    return [...this.list.children].find((item) => item.dataset.id === id)
  }

  load(cursor) {
    return this.widget.attempt(async () => {
      const { isArchive } = this
      const query = new URLSearchParams({ archived: isArchive, ...(cursor && { cursor }) })
      const page = await this.widget.readReply(await fetch(`${this.dataset.url}?${query}`))
      if (isArchive !== this.isArchive) return // of the other list
      if (!cursor && this.editor()) return // what is being typed matters more
      if (!cursor) this.list.textContent = ""
      const items = page.threads.filter(({ id }) => !this.find(id)).map((thread) => this.item(thread))
      this.list.append(...items)
      this.cursor = page.cursor
      this.more.hidden = !page.cursor
      this.mark()
      if (cursor) items[0]?.querySelector("button").focus()
    })
  }

  item({ id, title, pinned, archived }) {
    const item = this.part("item").content.firstElementChild.cloneNode(true)
    item.dataset.id = id
    if (pinned) item.dataset.pinned = ""
    item.querySelector("[data-act=pin]").ariaPressed = pinned
    if (archived) item.querySelector("[data-act=archive]").title = this.labels.unarchive
    this.name(item, title)
    return item
  }

  name(item, title) {
    const [open, ...others] = item.querySelectorAll("button")
    item.dataset.title = title ?? ""
    open.textContent = open.title = title ?? this.labels.untitled
    for (const button of others) button.ariaLabel = `${button.title}: ${open.textContent}`
  }

  handleEvent(event) {
    const item = event.target.closest("li")
    const { act } = event.target.dataset
    if (event.type === "keydown") {
      if (event.key === "Escape") this.cancel(item)
    } else if (event.type === "submit") {
      event.preventDefault()
      this.save(item)
    } else if (act && act !== "save") this[act](item)
  }

  async open(item) {
    const { widget } = this
    const { id } = item.dataset
    this.show(false)
    this.isOpening = true
    await widget.restart(`${this.url(id)}/open`)
    if (widget.thread === id && (await widget.reload()) === "complete") {
      widget.say(item.dataset.title || this.labels.untitled)
      widget.resume()
      widget.scroll.focus()
    }
    this.isOpening = false
  }

  pin(item) {
    return this.widget.attempt(async () => {
      const { id } = await this.change(item, "PATCH", { pinned: !("pinned" in item.dataset) })
      await this.load()
      this.find(id)?.querySelector("[data-act=pin]").focus()
    })
  }

  archive(item) {
    return this.widget.attempt(async () => {
      const { archived } = await this.change(item, "PATCH", { archived: !this.isArchive })
      this.drop(item, archived ? "archived" : "unarchived")
    })
  }

  prepareSearch() {
    return this.widget.attempt(async () => (await import("./search.js")).watch(this))
  }

  rename(item) {
    const input = this.edit(item, "rename").querySelector("input")
    input.value = item.dataset.title
    input.select()
  }

  delete(item) {
    this.edit(item, "delete").querySelector("[data-act=cancel]").focus()
  }

  edit(item, name) {
    this.cancel()
    const editor = this.part(name).content.firstElementChild.cloneNode(true)
    item.firstElementChild.hidden = true
    item.append(editor)
    return editor
  }

  editor() {
    return this.list.querySelector(".chat-memory-thread-editor")
  }

  cancel(item) {
    const editor = this.editor()
    if (!editor) return
    editor.previousElementSibling.hidden = false
    editor.remove()
    item?.querySelector("button").focus()
  }

  save(item) {
    return this.widget.attempt(async () => {
      const { title } = await this.change(item, "PATCH", { title: item.querySelector("input").value })
      this.name(item, title)
      this.cancel(item)
      this.widget.say(this.labels.renamed)
    })
  }

  async confirm(item) {
    this.cancel(item)
    if (item.dataset.id === this.widget.thread) return this.widget.restart(this.widget.part("reset").dataset.url)
    await this.widget.attempt(async () => {
      await this.change(item, "DELETE")
      this.drop(item, "deleted")
    })
  }

  drop(item, told) {
    const next = item.nextElementSibling ?? item.previousElementSibling
    item.remove()
    const focused = next?.querySelector("button") ?? this.widget.input
    focused.focus()
    this.widget.say(this.labels[told])
  }

  url(id) {
    return `${this.dataset.url}/${encodeURIComponent(id)}`
  }

  async change({ dataset: { id } }, method, body) {
    return this.widget.readReply(await this.widget.post(this.url(id), body, null, method))
  }
}

customElements.define("chat-memory-threads", ChatMemoryThreads)
