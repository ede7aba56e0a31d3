// Markdown to DOM nodes, never HTML. Every pattern takes linear time.

const FENCE = /^ {0,3}(```+(?![^`]*`)|~~~+)/
const HEADING = /^ {0,3}#{1,6}\s/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(?:\s+|$)/
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/
const INLINE = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /(?<br>\n)/,
    /(?<!`)(?<ticks>`+)(?!`)(?<code>[^]+?)(?<!`)\k<ticks>(?!`)/,
    /!\[[^[\]]*\]\([^()]*\)/, // an image stays text
    /\[(?<label>[^[\]]+)\]\(\s*(?<href>(?:https?:\/\/|mailto:)[^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)(?:\s+"[^"]*")?\s*\)/,
    /(?<url>https?:\/\/(?:[^\s<>[\]`"|()]|\([^\s()<>]*\))*(?:[^\s<>[\]`"|().,;:!?'*_~]|\([^\s()<>]*\)))/,
    /\*\*(?!\s)(?<strong>(?:[^*`]|`[^`]*`|\*[^*]+\*){1,500})(?<!\s)\*\*/,
    /\*(?!\s)(?<em>(?:[^*`]|`[^`]*`|\*\*[^*]+\*\*){1,500})(?<!\s)\*/,
    /(?<!\w)__(?<b>[^\s_][^_]*)__(?!\w)/,
    /(?<!\w)_(?<i>[^\s_][^_]*)_(?!\w)/,
    /~~(?<del>[^~]+)~~/,
  ].map((part) => part.source).join("|"),
  "gi",
)

function append(parent, name, properties) {
  return Object.assign(parent.appendChild(document.createElement(name)), properties)
}

function renderText(parent, text) {
  let position = 0
  for (const { 0: token, index, groups } of text.matchAll(INLINE)) {
    const { escaped, ticks, code, label, url, href = url, ...styles } = groups
    const style = Object.keys(styles).find((name) => styles[name])
    parent.append(text.slice(position, index))
    position = index + token.length
    if (href) {
      const link = append(parent, "a", { href, target: "_blank", rel: "noopener noreferrer nofollow" })
      if (url || label.includes("://")) link.append(label ?? url)
      else renderText(link, label)
    } else if (code) append(parent, "code", { textContent: code })
    else if (style) renderText(append(parent, style), style === "br" ? "" : styles[style])
    else parent.append(escaped ?? token)
  }
  parent.append(text.slice(position))
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/)
}

function isTable(lines, at) {
  const divider = lines[at + 1] ?? ""
  return lines[at].includes("|") && divider.includes("|") && /^[\s|]*:?-[\s|:-]*$/.test(divider)
    && cells(divider).length === cells(lines[at]).length
}

function continues(lines, at) {
  const line = lines[at]
  const starts = [FENCE, HEADING, QUOTE, RULE, /^\s*(?:[-*+]|1[.)])(?:\s|$)/, /^\s*$/]
  return !starts.some((start) => start.test(line)) && !isTable(lines, at)
}

function renderFence(lines, at, parent, marks) {
  const code = []
  for (at++; at < lines.length; at++) {
    const line = lines[at].trim()
    if (line.startsWith(marks) && !line.replaceAll(marks[0], "")) break
    code.push(lines[at])
  }
  append(append(parent, "pre", { tabIndex: 0, dir: "ltr" }), "code", { textContent: code.join("\n") })
  return at + 1
}

function renderQuote(lines, at, parent, depth) {
  const body = []
  while (at < lines.length && (QUOTE.test(lines[at]) || (body.length && continues(lines, at)))) {
    body.push(lines[at++].replace(QUOTE, ""))
  }
  renderBlocks(body, append(parent, "blockquote"), depth + 1)
  return at
}

function renderList(lines, at, parent, depth) {
  const start = parseInt(lines[at])
  const list = append(parent, start >= 0 ? "ol" : "ul")
  if (start >= 0) list.start = start
  while (at < lines.length) {
    const [opening, space, marker] = ITEM.exec(lines[at]) ?? []
    if (!marker || RULE.test(lines[at]) || (parseInt(marker) >= 0) !== (start >= 0)) break
    const outside = new RegExp(`^(?:\t| {0,${space.length + marker.length + 1}})`)
    const inside = new RegExp(`^(?:\\s*$|\\s*\t|\\s{${space.length + 2}})`)
    const body = [lines[at].slice(opening.length)]
    while (++at < lines.length) {
      const line = lines[at]
      const isLazy = body.at(-1).trim() && !ITEM.test(line) && continues(lines, at)
      if (!inside.test(line) && !isLazy) break
      body.push(line.replace(outside, ""))
    }
    renderBlocks(body, append(list, "li"), depth + 1)
  }
  return at
}

function renderTable(lines, at, parent) {
  const frame = append(parent, "div", { className: "chat-memory-table", tabIndex: 0 })
  const table = append(frame, "table")
  const width = cells(lines[at]).length
  const addRow = (line, name) => {
    const row = append(table, "tr")
    for (const cell of cells(line).slice(0, width)) renderText(append(row, name), cell.trim())
  }
  addRow(lines[at], "th")
  for (at += 2; at < lines.length && lines[at].includes("|"); at++) addRow(lines[at], "td")
  return at
}

function renderParagraph(lines, at, parent) {
  const start = at++
  while (at < lines.length && continues(lines, at)) at++
  renderText(append(parent, "p"), lines.slice(start, at).map((line) => line.trim()).join("\n"))
  return at
}

function renderBlock(lines, at, parent, depth) {
  const line = lines[at]
  const fence = FENCE.exec(line)
  if (fence) return renderFence(lines, at, parent, fence[1])
  if (isTable(lines, at)) return renderTable(lines, at, parent)
  if (RULE.test(line)) append(parent, "hr")
  else if (HEADING.test(line)) renderText(append(parent, "h3"), line.replace(HEADING, "").trim())
  else if (depth < 8 && QUOTE.test(line)) return renderQuote(lines, at, parent, depth)
  else if (depth < 8 && ITEM.test(line)) return renderList(lines, at, parent, depth)
  else return renderParagraph(lines, at, parent)
  return at + 1
}

function renderBlocks(lines, parent, depth) {
  let last = 0
  for (let at = 0; at < lines.length; ) {
    if (lines[at].trim()) at = renderBlock(lines, (last = at), parent, depth)
    else at++
  }
  return last
}

export function markdownPainter(element) {
  let settledText = 0
  let settledNodes = 0
  return (text) => {
    const lines = text.replace(/\r\n?/g, "\n").slice(settledText).split("\n")
    while (element.childNodes.length > settledNodes) element.lastChild.remove()
    const last = renderBlocks(lines, element, 0)
    if (last && last < lines.length - 2) { // no later text changes what is above
      settledText += lines.slice(0, last).join("\n").length + 1
      settledNodes = element.childNodes.length - 1
    }
  }
}
