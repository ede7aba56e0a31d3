-- Returns {thread id, messages, lines} of a thread or, without a digest, of the ongoing one.

local digest = given.digest or redis.call('GET', index .. ':current')
local head = digest and find(digest)
if not head then
    return false
end
local messages = index .. ':' .. digest .. ':messages'
local limit = given.limit
if not (given.before or given.after) then
    return {head[ID], redis.call('LRANGE', messages, limit and -limit - 1 or 0, -2), head[LINES]}
end
local count = redis.call('LLEN', messages) - 1
local first, stop = 0, count
if given.after then
    first = place_of(messages, count, given.after + 1)
    stop = math.min(stop, limit and first + limit or stop)
else
    stop = place_of(messages, count, given.before)
    first = math.max(first, limit and stop - limit or first)
end
return {head[ID], first < stop and redis.call('LRANGE', messages, first, stop - 1) or {}, head[LINES]}
