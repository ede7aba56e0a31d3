-- Adds messages to what is to become a thread; drops it if there are none. Nobody sees it until then, and it goes by itself
-- if that does not come.

local key = index .. ':' .. given.staged
if #given.messages == 0 then
    redis.call('UNLINK', key .. ':messages', key .. ':found')
    return
end
local thread = {key = key, head = {0, 0, '', 0, 0, '', 0, '', 0, 0, 0, {}}, stored = true, fields = {}, added = {}}
local sequences = {}
for place, message in ipairs(given.messages) do
    sequences[place] = message[4]
end
put(thread, given.messages, sequences)
set_fields(key .. ':found', thread.fields)
for start = 1, #thread.added, 1000 do
    redis.call('RPUSH', key .. ':messages', unpack(thread.added, start, math.min(start + 999, #thread.added)))
end
redis.call('EXPIRE', key .. ':messages', given.patience)
redis.call('EXPIRE', key .. ':found', given.patience)
