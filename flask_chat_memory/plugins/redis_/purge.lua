-- Removes a thread that was idle before a time and has no running turn; returns how many messages it held, or nothing.

local thread = look(given.digest)
find_current(thread)
if not thread.stored or thread.running or thread.head[ACTIVE] >= given.before then
    return false
end
local count = redis.call('LLEN', thread.key .. ':messages') - 1
redis.call('ZCARD', index)
remove(thread)
return count
