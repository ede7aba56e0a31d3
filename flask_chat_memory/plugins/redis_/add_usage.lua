-- Adds what was put aside to the ledger of the forgotten, once for each token.

local done = index .. ':added:' .. given.token
if redis.call('EXISTS', done) == 0 then
    for place = 1, #given.fields, 2 do
        redis.call('HINCRBY', index .. ':usage', given.fields[place], given.fields[place + 1])
    end
    redis.call('HSET', index .. ':usage', 'owner', given.owner, 'chatbot', given.chatbot)
    -- For a month, in which whoever was interrupted may go on.
    redis.call('SET', done, '1', 'EX', 2592000)
end
