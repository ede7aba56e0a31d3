-- Extends leases and keeps texts. Each of KEYS is the index of a scope; given.turns has a {digest, turn, text or nil} for
-- each. Returns the turns whose stop is wanted, and those that are gone. One that fails does not keep the others from being renewed.

local failure, unwanted = nil, {}
for place, name in ipairs(KEYS) do
    index = name
    local digest, turn, text = unpack(given.turns[place], 1, 3)
    local done, problem = pcall(function()
        local thread = look(digest)
        find_current(thread)
        redis.call('ZCARD', index)
        local record = thread.alive and thread.head[LIVE][turn]
        if record then
            record[1] = given.lease
            record[TEXT] = text or record[TEXT]
            close(thread)
        end
        if not record or record[STOP] then
            unwanted[#unwanted + 1] = turn
        end
    end)
    if not done then
        failure = type(problem) == 'table' and problem or redis.error_reply(tostring(problem))
    end
end
return failure or unwanted
