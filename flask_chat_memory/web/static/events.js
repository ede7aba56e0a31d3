export async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const events = (rest + value).split(/\r?\n\r?\n/)
    rest = events.pop()
    for (const event of events) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"))
      if (lines.length) yield lines.map((line) => line.replace(/data: ?/, "")).join("\n")
    }
  }
}
