-- Returns what is known of the threads of a scope, the newest activity first; drops entries of threads that are gone.

local found, gone, start, entries = {}, {}, 0, nil
local limit = given.limit or math.huge
-- The fields of a description that are '1' or absent.
local PINNED, ARCHIVED = 5, 6

local function is_wanted(thread, wanted, place)
    return wanted == nil or wanted == (thread[3][place] == '1')
end

repeat
    entries = limit > 0 and redis.call('ZREVRANGEBYSCORE', index, given.activity or '+inf', '-inf', 'WITHSCORES',
        'LIMIT', start, 50) or {}
    for place = 1, #entries, 2 do
        local digest, score = entries[place], tonumber(entries[place + 1])
        -- Those of equal activity come in descending order, too.
        if not given.activity or score < tonumber(given.activity) or digest < given.before then
            local thread = describe(digest)
            if not thread and redis.call('EXISTS', index .. ':' .. digest .. ':messages') == 0 then
                gone[#gone + 1] = digest
            elseif thread and is_wanted(thread, given.pinned, PINNED) and is_wanted(thread, given.archived, ARCHIVED) then
                found[#found + 1] = thread
            end
        end
        if #found >= limit then
            break
        end
    end
    start = start + 50
until #entries < 100 or #found >= limit
for _, digest in ipairs(gone) do
    redis.call('ZREM', index, digest)
end
return found
