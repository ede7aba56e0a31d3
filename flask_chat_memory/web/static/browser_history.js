const OWNER = /[^:]*$/

function attempt(work) {
  try {
    return work()
  } catch {
    return null // blocked, full, or not ours
  }
}

export function forget(key, except) {
  attempt(() => {
    for (const found of Object.keys(localStorage)) {
      if (found.startsWith(key.replace(OWNER, "")) && found !== except) localStorage.removeItem(found)
    }
  })
}

function isMessage({ role, text, id }) {
  return ["user", "ai"].includes(role) && typeof text === "string" && typeof id === "string"
}

export class BrowserHistory {
  constructor(key, adopt) {
    this.key = key
    const found = adopt && !this.read().length && attempt(() => localStorage.getItem(key.replace(OWNER, "anon")))
    if (found) attempt(() => localStorage.setItem(key, found))
    forget(key, key)
  }

  read() {
    return attempt(() => JSON.parse(localStorage.getItem(this.key)).filter(isMessage)) ?? []
  }

  // An answer whose question another tab has cleared is dropped
  add(message, question) {
    const add = () => {
      const messages = this.read()
      const above = messages.findLastIndex(({ id }) => !question || id === question)
      if (above >= 0 || !question) messages.splice(above + 1, 0, message)
      this.write(messages.slice(-200))
    }
    return navigator.locks ? navigator.locks.request(this.key, add) : add()
  }

  write(messages) {
    const write = () => localStorage.setItem(this.key, JSON.stringify(messages)) ?? true
    while (messages.length && !attempt(write)) messages = messages.slice(messages.length / 2 + 1)
  }
}
