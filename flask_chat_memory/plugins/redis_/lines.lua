-- Gives a thread other lines if nothing was written to it since given.seen. Returns 1 if it has them, 0 if something was
-- written, nothing if it is gone. This is no activity.

local thread = look(given.digest)
find_current(thread)
redis.call('ZCARD', index)
if not thread.alive then
    return false
end
if thread.head[NONCE] ~= given.seen then
    -- The very same call, sent again because its answer was lost, is done already.
    return thread.head[NONCE] == given.nonce and 1 or 0
end
thread.head[LINES] = given.lines
close(thread)
return 1
