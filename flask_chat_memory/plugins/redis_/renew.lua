-- Extends leases. Each of KEYS is the index of a scope; given.turns has a {digest, turn} for each.
-- One that fails does not keep the others from being renewed.

local failure
for place, name in ipairs(KEYS) do
    index = name
    local digest, turn = unpack(given.turns[place])
    local done, problem = pcall(function()
        local thread = look(digest)
        find_current(thread)
        redis.call('ZCARD', index)
        if thread.alive and thread.head[LIVE][turn] then
            thread.head[LIVE][turn][1] = given.lease
            close(thread)
        end
    end)
    if not done then
        failure = type(problem) == 'table' and problem or redis.error_reply(tostring(problem))
    end
end
return failure
