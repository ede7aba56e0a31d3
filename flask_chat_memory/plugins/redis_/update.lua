-- Changes the description of a thread; returns 1 if there is one. This is no activity.

local thread = look(given.digest)
if not thread.alive then
    return 0
end
local about = thread.key .. ':about'
redis.call('HLEN', about)
set_fields(about, given.set)
if #given.removed > 0 then
    redis.call('HDEL', about, unpack(given.removed))
end
return 1
