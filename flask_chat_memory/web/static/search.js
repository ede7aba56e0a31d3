const PAUSE = 250

export function watch(threads) {
  const { widget, labels } = threads
  const field = threads.part("search")
  const found = threads.part("found")
  const list = threads.part("results")
  let wanted
  let pause

  const item = (result) => {
    const item = threads.part("result").content.firstElementChild.cloneNode(true)
    const button = item.firstElementChild
    Object.assign(item.dataset, { id: result.thread_id, title: result.title ?? "" })
    button.children[0].textContent = result.title ?? labels.untitled
    button.children[1].textContent = result.text
    button.onclick = async () => {
      await threads.open(item)
      widget.log.find(result.message_id)?.scrollIntoView({ block: "center" })
    }
    return item
  }
  const show = (results, told = "") => {
    list.replaceChildren(...results.map(item))
    found.textContent = told
    threads.part("all").hidden = !!wanted
  }
  const search = () => {
    const text = (wanted = field.value.trim())
    if (!text) return show([])
    return widget.attempt(async () => {
      const query = new URLSearchParams({ text })
      const { results, complete } = await widget.readReply(await fetch(`${field.dataset.url}?${query}`))
      if (text !== wanted) return
      const count = results.length ? `${labels.found}: ${results.length}` : labels.nothing_found
      show(results, complete ? count : `${count}. ${labels.maybe_more}`)
    })
  }
  const wait = () => {
    clearTimeout(pause)
    pause = setTimeout(search, field.value.trim() ? PAUSE : 0)
  }
  field.addEventListener("input", wait)
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return
    event.preventDefault()
    field.value = ""
    wait()
  })
  if (field.value) wait()
}
