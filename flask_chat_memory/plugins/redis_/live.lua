-- Returns the live records of a thread, packed.

local head = find(given.digest)
return head and next(head[LIVE]) and cmsgpack.pack(head[LIVE]) or ''
