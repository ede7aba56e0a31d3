-- Puts what was staged in the place of a thread. Returns how many messages there are, less than given.staged_messages if
-- what was staged is gone, and then nothing is done. With given.seen, which is what was written last, and what was seen
-- beside it: only if that is still so; else nothing is done or returned.

local thread = look(given.digest)
local staged = index .. ':' .. given.staged

-- Tells whether lists hold the same.
local function equal(one, other)
    for place = 1, math.max(#one, #other) do
        if one[place] ~= other[place] then
            return false
        end
    end
    return true
end

if given.seen then
    local about = redis.call('HMGET', thread.key .. ':about', unpack(DESCRIPTION))
    if not thread.alive or thread.head[NONCE] ~= given.seen or not equal(about, given.seen_about)
        or not equal(redis.call('HGETALL', thread.key .. ':marks'), given.seen_marks) then
        return false
    end
end
local count = redis.call('LLEN', staged .. ':messages')
-- A key of another type ends this here.
redis.call('EXISTS', index .. ':current')
if count ~= given.count then
    return count
end
redis.call('ZADD', index, given.time_of_activity, given.digest)
remove(given.digest)
redis.call('ZADD', index, given.time_of_activity, given.digest)
if count > 0 then
    redis.call('RENAME', staged .. ':messages', thread.key .. ':messages')
end
if redis.call('EXISTS', staged .. ':found') == 1 then
    redis.call('RENAME', staged .. ':found', thread.key .. ':found')
end
thread.fields, thread.added, thread.stored = {'born', given.nonce}, {}, false
thread.head = {given.active, 0, given.id, given.sequence, given.used, given.nonce, given.sequence, given.nonce,
    given.question, 0, 0, given.live, given.lines}
for _, key in ipairs(given.known) do
    remember(thread, unpack(key))
end
set_fields(thread.key .. ':about', given.about)
for _, mark in ipairs(given.marks) do
    redis.call('HSET', thread.key .. ':marks', mark[1], mark[2])
end
if given.is_current then
    redis.call('SET', index .. ':current', given.digest)
end
close(thread)
return count
