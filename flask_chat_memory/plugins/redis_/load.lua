-- Returns {thread id, messages} of a thread or, without a digest, of the ongoing one; before a sequence newest first.

local digest = given.digest or redis.call('GET', index .. ':current')
local id = digest and find(digest)
if not id then
    return false
end
local messages = index .. ':' .. digest .. ':messages'
local limit = given.limit or -1
if limit == 0 then
    return {id, {}}
elseif given.after then
    return {id, redis.call('ZRANGEBYSCORE', messages, '(' .. text(given.after), '(+inf', 'LIMIT', 0, limit)}
elseif given.before then
    return {id, redis.call('ZREVRANGEBYSCORE', messages, '(' .. text(given.before), '-inf', 'LIMIT', 0, limit)}
end
return {id, redis.call('ZRANGE', messages, limit < 0 and 0 or -limit - 1, -2)}
