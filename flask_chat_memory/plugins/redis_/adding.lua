-- How a batch is added to a thread, and whole turns removed from its start.

-- Returns a stored message, or an empty table if it cannot be read.
local function decode(member)
    local readable, message = pcall(cjson.decode, member:match(' (.*)$'))
    return readable and type(message) == 'table' and message or {}
end

-- Removes a message and returns its turn.
local function drop(thread, member)
    local message, sequence = decode(member), member:match('^%d+')
    local id, turn = message.id, message.turn
    redis.call('ZREM', thread.key .. ':messages', member)
    if type(id) == 'string' and redis.call('HGET', thread.key .. ':found', 'm' .. id) == sequence then
        redis.call('HDEL', thread.key .. ':found', 'm' .. id)
    end
    return type(turn) == 'string' and turn or nil
end

-- Returns the sequence of the first question from a place on.
local function question_from(thread, place)
    while true do
        local members = redis.call('ZRANGE', thread.key .. ':messages', place, place + 9, 'WITHSCORES')
        for at = 1, #members, 2 do
            if decode(members[at]).role == 'user' then
                return tonumber(members[at + 1])
            end
        end
        if #members < 20 then
            return tonumber(thread.question)
        end
        place = place + 10
    end
end

-- Cuts at the first question at or after the limit; keeps the newest turn, and those that are being answered.
local function trim(thread)
    local messages, found = thread.key .. ':messages', thread.key .. ':found'
    if not given.max_messages or thread.question == '' then
        return
    end
    local count = redis.call('ZCOUNT', messages, '-inf', '(+inf')
    local excess = count - given.max_messages
    if excess <= 0 then
        return
    end
    local limit = redis.call('ZRANGE', messages, excess, excess, 'WITHSCORES')[2]
    local cut = tonumber(thread.question)
    if tonumber(limit) <= cut then
        cut = question_from(thread, excess)
    end
    for _, record in pairs(thread.live) do
        if record[1] > now then
            cut = math.min(cut, record[2])
        end
    end
    local turns = {}
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', messages, '-inf', '(' .. text(cut))) do
        local turn = drop(thread, member)
        if turn then
            turns[turn] = true
        end
    end
    for turn in pairs(turns) do
        for sequence in (redis.call('HGET', found, 't' .. turn) or ''):gmatch('%d+') do
            for _, member in ipairs(redis.call('ZRANGEBYSCORE', messages, sequence, sequence)) do
                drop(thread, member)
            end
        end
        redis.call('HDEL', found, 't' .. turn)
    end
end

-- Remembers the key of a batch; forgets the oldest, some at a time.
local function remember(thread, key)
    local name = thread.key .. ':keys'
    if thread.keys == 0 then
        thread.deadline = nil
    elseif thread.keys >= given.keys_kept * 3 / 2 then
        local fields, known = redis.call('HGETALL', name), {}
        for place = 1, #fields, 2 do
            known[#known + 1] = {fields[place], tonumber(fields[place + 1])}
        end
        table.sort(known, function(one, other) return one[2] > other[2] end)
        for place = given.keys_kept, #known do
            redis.call('HDEL', name, known[place][1])
        end
    end
    redis.call('HSET', name, key, thread.batch)
end

-- Stores the given messages at the end, and the key; returns the sequence of the first.
local function add(thread, messages, key)
    local sequences = {}
    for place = 1, #messages do
        sequences[place] = thread.sequence + place
    end
    thread.batch = text(thread.sequence + 1)
    put(thread, messages, sequences)
    trim(thread)
    thread.tokens = thread.tokens + given.tokens
    if key then
        remember(thread, key)
    end
    return thread.batch
end
