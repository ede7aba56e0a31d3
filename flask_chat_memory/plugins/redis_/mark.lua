-- Keeps the mark of a message, or removes it if none is given; returns 1 if the thread has the message. This is no activity.

local thread = look(given.digest, {'m:' .. given.message})
find_current(thread)
redis.call('ZCARD', index)
if not thread.alive or not thread.read[1] then
    return 0
end
if given.mark then
    redis.call('HSET', thread.key .. ':marks', given.message, given.mark)
    thread.head[DEADLINE] = 0
else
    redis.call('HDEL', thread.key .. ':marks', given.message)
end
close(thread)
return 1
