-- Returns the live records of a thread, packed.

local head = find(given.digest)
return head and next(head[12]) and cmsgpack.pack(head[12]) or ''
