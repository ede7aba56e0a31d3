-- Removes a thread with all that belongs to it; returns 1 if there was one.
-- With a nonce to compare: only if nothing was written since, and then 1 as well if it was gone already.

local thread = look(given.digest)
find_current(thread)
if given.unchanged and thread.alive and (thread.running or thread.head[NONCE] ~= given.unchanged) then
    return 0
end
remove(thread)
return (thread.alive or given.unchanged) and 1 or 0
