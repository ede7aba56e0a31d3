-- Returns all that a thread holds, {messages and head, fields of "about", keys with sequences, marks}; 1 if a turn is
-- running; nothing if it is gone.

local thread = look(given.digest)
if not thread.alive then
    return false
end
if thread.running then
    return 1
end
local keys = {}
for _, key in ipairs(keys_of(thread)) do
    keys[#keys + 1] = key[1]
    keys[#keys + 1] = key[2]
end
return {
    redis.call('LRANGE', thread.key .. ':messages', 0, -1),
    redis.call('HGETALL', thread.key .. ':about'),
    keys,
    redis.call('HGETALL', thread.key .. ':marks'),
}
