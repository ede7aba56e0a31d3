-- What the scripts that write share.
--
-- A script that fails half-way is not undone. So each first reads every key that it is going to write, by look() and
-- find_current(), where a key of another type ends it; the index, which it does not read, is what it writes first.

-- Returns a thread with all that decides what may be done with it.
local function look(digest)
    local key = index .. ':' .. digest
    local head = redis.call('HMGET', key, 'id', 'active', 'sequence', 'tokens', 'nonce', 'batch', 'born', 'question',
        'live', 'deadline')
    redis.call('ZCARD', key .. ':messages')
    local found = redis.call('HLEN', key .. ':found')
    local live = unpack_live(head[9])
    local latest = latest_of(live)
    return {
        digest = digest,
        key = key,
        id = head[1],
        alive = head[1] and is_alive(tonumber(head[2]), latest),
        active = head[2],
        sequence = tonumber(head[3] or 0),
        tokens = tonumber(head[4] or 0),
        nonce = head[5],
        batch = head[6] or '0',
        born = head[7],
        question = head[8] or '',
        live = live,
        running = latest > now,
        deadline = head[10],
        keys = redis.call('HLEN', key .. ':keys'),
        found = found,
    }
end

-- Returns the threads that make room for a new one: those idle longest, and entries of threads that are gone.
local function superfluous(newest)
    local excess = redis.call('ZCARD', index) - given.max_threads
    if not redis.call('ZSCORE', index, newest) then
        excess = excess + 1
    end
    local found = {}
    if excess <= 0 then
        return found
    end
    for _, digest in ipairs(redis.call('ZRANGE', index, 0, -1)) do
        if #found == excess then
            break
        end
        local thread = digest ~= newest and look(digest)
        if thread and not thread.running then
            found[#found + 1] = thread
        end
    end
    return found
end

local function remove(thread)
    redis.call('ZREM', index, thread.digest)
    redis.call('UNLINK', thread.key, thread.key .. ':messages', thread.key .. ':found', thread.key .. ':keys')
    if redis.call('GET', index .. ':current') == thread.digest then
        redis.call('DEL', index .. ':current')
    end
end

-- Makes a thread anew that is absent or expired.
local function open(thread, victims)
    for _, victim in ipairs(victims) do
        remove(victim)
    end
    remove(thread)
    redis.call('HSET', thread.key, 'id', given.id, 'owner', given.owner, 'chatbot', given.chatbot,
        'created', given.time, 'born', given.nonce)
    thread.id, thread.alive, thread.live, thread.deadline, thread.question = given.id, true, {}, nil, ''
    thread.sequence, thread.tokens, thread.keys, thread.found = 0, 0, 0, 0
end

-- Removes the messages of a thread.
local function empty(thread)
    redis.call('UNLINK', thread.key .. ':messages', thread.key .. ':found')
    thread.tokens, thread.question, thread.deadline = 0, '', nil
end

-- Stores messages {is a question, id, turn}, whose JSON is in ARGV from the second on, each as the one of a sequence.
local function put(thread, messages, sequences)
    -- No more at once than fits on the stack of Lua.
    for start = 1, #messages, 1000 do
        local added, found, turns = {}, {}, {}
        for place = start, math.min(start + 999, #messages) do
            local message, sequence = messages[place], text(sequences[place])
            local is_question, id, turn = message[1], message[2], message[3]
            added[#added + 1] = sequence
            added[#added + 1] = sequence .. ' ' .. ARGV[place + 1]
            if is_question then
                thread.question = sequence
            end
            if id then
                found[#found + 1] = 'm' .. id
                found[#found + 1] = sequence
            end
            if turn then
                local others = turns[turn] or redis.call('HGET', thread.key .. ':found', 't' .. turn)
                turns[turn] = others and others .. ' ' .. sequence or sequence
            end
            thread.sequence = math.max(thread.sequence, sequences[place])
        end
        for turn, all in pairs(turns) do
            found[#found + 1] = 't' .. turn
            found[#found + 1] = all
        end
        redis.call('ZADD', thread.key .. ':messages', unpack(added))
        if #found > 0 then
            if thread.found == 0 then
                thread.deadline = nil
            end
            redis.call('HSET', thread.key .. ':found', unpack(found))
        end
    end
end

-- Gives all keys of a thread the same deadline, which those of its scope do not come before. One that is about right
-- is left: the slack allows for that, and for a clock of the server that differs.
local function set_deadline(thread, latest)
    if not given.expiry then
        if thread.deadline ~= 'none' then
            for _, part in ipairs({'', ':messages', ':found', ':keys'}) do
                redis.call('PERSIST', thread.key .. part)
            end
            redis.call('PERSIST', index)
            redis.call('PERSIST', index .. ':current')
        end
        return 'none'
    end
    local wanted = math.min(math.ceil(math.max(thread.active + given.expiry, latest)) + given.slack, 1e12)
    if thread.deadline and math.abs((tonumber(thread.deadline) or math.huge) - wanted) < given.slack / 2 then
        return thread.deadline
    end
    redis.call('PEXPIRE', thread.key, text((wanted - math.floor(now)) * 1000))
    local deadline = redis.call('PEXPIRETIME', thread.key)
    for _, part in ipairs({':messages', ':found', ':keys'}) do
        redis.call('PEXPIREAT', thread.key .. part, deadline)
    end
    for _, key in ipairs({index, index .. ':current'}) do
        if redis.call('PEXPIRETIME', key) < deadline then
            redis.call('PEXPIREAT', key, deadline)
        end
    end
    return text(wanted)
end

-- Writes the head of a thread, and what stands for it behind its messages.
local function close(thread, ...)
    local latest = latest_of(thread.live)
    redis.call('ZREMRANGEBYSCORE', thread.key .. ':messages', '+inf', '+inf')
    local lease = latest > 0 and string.format('%.17g', latest) or '0'
    redis.call('ZADD', thread.key .. ':messages', '+inf', '#' .. thread.active .. ' ' .. lease)
    redis.call('HSET', thread.key, 'active', thread.active, 'sequence', text(thread.sequence), 'tokens', text(thread.tokens),
        'nonce', given.nonce or thread.nonce, 'batch', thread.batch, 'question', thread.question,
        'live', next(thread.live) and cmsgpack.pack(thread.live) or '', ...)
    local deadline = set_deadline(thread, latest)
    if deadline ~= thread.deadline then
        redis.call('HSET', thread.key, 'deadline', deadline)
    end
end

-- Notes activity: the first that a script writes, unless it opens the thread. One that claims to be the ongoing
-- thread is so if there is no other.
local function touch(thread, claims, current)
    redis.call('ZADD', index, given.time, thread.digest)
    thread.active = given.time
    if claims and not current then
        redis.call('SET', index .. ':current', thread.digest)
        thread.deadline = nil
    end
end
