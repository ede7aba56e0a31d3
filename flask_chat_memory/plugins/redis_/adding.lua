-- How a batch is added to a thread, and whole turns removed from its start.

-- Adds the given messages at the end, and the key; returns the sequence of the first.
local function add(thread, messages, key)
    local sequences = {}
    for place = 1, #messages do
        sequences[place] = thread.head[SEQUENCE] + place
    end
    thread.head[BATCH] = thread.head[SEQUENCE] + 1
    thread.head[TOKENS] = thread.head[TOKENS] + given.tokens
    put(thread, messages, sequences)
    if key then
        remember(thread, key, thread.head[BATCH])
    end
    return thread.head[BATCH]
end

-- Cuts a thread that is closed at the first question at or after the limit; keeps the newest turn, and those that are
-- being answered.
local function trim(thread)
    local messages, found = thread.key .. ':messages', thread.key .. ':found'
    local count = given.max_messages and thread.head[QUESTION] > 0 and redis.call('LLEN', messages) - 1
    if not count or count <= given.max_messages then
        return
    end
    local excess, kept = count - given.max_messages, thread.head[QUESTION]
    for _, record in pairs(thread.head[LIVE]) do
        if record[1] > now then
            kept = math.min(kept, record[2])
        end
    end

    -- Returns a stored message, or an empty table if it cannot be read.
    local function decode(member)
        local readable, message = pcall(cjson.decode, member:sub(18))
        return readable and type(message) == 'table' and message or {}
    end

    -- Returns the messages before the cut.
    local function find_removed()
        local removed = {}
        for start = 0, count - 1, 10 do
            for _, member in ipairs(redis.call('LRANGE', messages, start, math.min(start + 9, count - 1))) do
                local at_limit = #removed >= excess
                if (tonumber(member:sub(1, 16)) or 0) >= kept or at_limit and decode(member).role == 'user' then
                    return removed
                end
                removed[#removed + 1] = member
            end
        end
        return {}
    end

    -- Forgets a message and returns its turn.
    local function forget(member)
        local message = decode(member)
        local id, turn = message.id, message.turn
        if type(id) == 'string' and tonumber(redis.call('HGET', found, 'm:' .. id)) == tonumber(member:sub(1, 16)) then
            redis.call('HDEL', found, 'm:' .. id)
            redis.call('HDEL', thread.key .. ':marks', id)
        end
        return type(turn) == 'string' and turn or nil
    end

    local removed, turns = find_removed(), {}
    redis.call('LTRIM', messages, #removed, -1)
    count = count - #removed
    for _, member in ipairs(removed) do
        local turn = forget(member)
        if turn then
            turns[turn] = true
        end
    end
    for turn in pairs(turns) do
        for sequence in (redis.call('HGET', found, 't:' .. turn) or ''):gmatch('%d+') do
            local readable, place = pcall(place_of, messages, count, tonumber(sequence))
            local member = readable and place < count and redis.call('LINDEX', messages, place)
            if member and tonumber(member:sub(1, 16)) == tonumber(sequence) then
                redis.call('LREM', messages, 1, member)
                count = count - 1
                forget(member)
            end
        end
        redis.call('HDEL', found, 't:' .. turn)
    end
end
