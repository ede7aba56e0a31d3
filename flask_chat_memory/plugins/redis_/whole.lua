-- Returns all that belongs to a thread but its messages: {head, count of messages, fields of "about", keys with sequences,
-- marks, 1 if it is the ongoing one}; nothing if it is gone.

local described = describe(given.digest)
if not described then
    return false
end
local keys = {}
for _, key in ipairs(keys_of(look(given.digest))) do
    keys[#keys + 1] = key[1]
    keys[#keys + 1] = key[2]
end
described[4] = keys
described[5] = redis.call('HGETALL', index .. ':' .. given.digest .. ':marks')
described[6] = redis.call('GET', index .. ':current') == given.digest and 1 or 0
return described
