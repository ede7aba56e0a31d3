-- Returns all that a thread holds, {head, messages, keys}; 1 if a turn is running; nothing if it is gone.

local thread = look(given.digest)
if not thread.alive then
    return false
end
if thread.running then
    return 1
end
return {
    redis.call('HGETALL', thread.key),
    redis.call('ZRANGE', thread.key .. ':messages', 0, -2),
    redis.call('HGETALL', thread.key .. ':keys'),
}
