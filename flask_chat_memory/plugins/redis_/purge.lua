-- Removes a thread that was idle before a time and has no running turn; returns how many messages it held, or nothing.

local head = read_head(given.digest)
if not head or head[LEASE] > now or head[ACTIVE] >= given.before then
    return false
end
local count = redis.call('LLEN', index .. ':' .. given.digest .. ':messages') - 1
remove(given.digest)
return count
