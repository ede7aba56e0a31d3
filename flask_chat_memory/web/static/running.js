const PATIENCE = 4000

function settled(widget, running) {
  const isOver = () => widget.running !== running
  return Promise.race([running.then(isOver), new Promise((resolve) => setTimeout(() => resolve(isOver()), PATIENCE))])
}

export async function stop(widget) {
  if (widget.history || !widget.dataset.stopUrl) return widget.abort() // the server knows nothing of it
  const { running, thread, turn } = widget
  const body = { thread_id: thread, key: turn.key, question_id: turn.key ? undefined : turn.id }
  let isStopped
  await widget.attempt(async () => {
    const reply = await widget.post(widget.dataset.stopUrl, body)
    isStopped = (await widget.readReply(reply)).stopped
  })
  if (!isStopped || !(await settled(widget, running))) widget.abort() // as far as this page goes
}

async function follow(widget, bubble) {
  const answer = widget.log.startAnswer()
  const turn = (widget.turn = { id: bubble.dataset.id, answer })
  bubble.after(answer.bubble)
  widget.log.mark(bubble)
  const query = new URLSearchParams({ question_id: turn.id })
  if (widget.thread) query.set("thread_id", widget.thread)
  const outcome = await widget.attempt(async () => {
    const { signal } = widget.controller
    const headers = { Accept: "text/event-stream" }
    const response = await fetch(`${widget.dataset.resumeUrl}?${query}`, { headers, signal })
    if (!response.ok) await widget.readReply(response)
    answer.bubble.dataset.id = response.headers.get("Chat-Memory-Answer")
    await widget.read(turn, response)
  })
  answer.finish(turn.status ?? outcome)
}

export async function resume(widget) {
  await widget.running
  widget.run(async () => {
    for (const bubble of widget.querySelectorAll("[data-status=pending]")) await follow(widget, bubble)
  })
}
