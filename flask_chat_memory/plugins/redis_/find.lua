-- Returns what is known of a thread, or nothing.

return describe(given.digest) or false
