-- Returns the live records of a thread, packed.

local _, live = find(given.digest)
return live or ''
