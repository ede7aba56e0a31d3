-- What the scripts that write share.
--
-- A script that fails half-way is not undone. So each first reads every key that it is going to write, by look() and
-- find_current(), where a key of another type ends it; the index, which it does not read, is what it writes first.

local PARTS = {':messages', ':found', ':about', ':marks'}

-- Returns a thread with all that decides what may be done with it.
--
-- names: fields of its hash "found" to be read with it, into thread.read.
local function look(digest, names)
    local head, key, read = read_head(digest), index .. ':' .. digest, nil
    if names then
        read = redis.call('HMGET', key .. ':found', unpack(names))
    else
        redis.call('HLEN', key .. ':found')
    end
    redis.call('HLEN', key .. ':marks')
    if not head then
        redis.call('HLEN', key .. ':about')
    end
    return {
        digest = digest,
        key = key,
        head = head or {0, 0, '', 0, 0, '', 0, '', 0, 0, 0, {}},
        stored = head ~= nil,
        alive = head and is_alive(head),
        running = head and head[LEASE] > now,
        read = read,
        fields = {},
        added = {},
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

-- Adds fields to a hash, no more at once than fits on the stack of Lua.
local function set_fields(name, fields)
    for start = 1, #fields, 1000 do
        redis.call('HSET', name, unpack(fields, start, math.min(start + 999, #fields)))
    end
end

-- Returns the append keys that a thread remembers, the oldest first: {key, sequence} of each.
local function keys_of(thread)
    local name, order, found = thread.key .. ':found', {}, {}
    for number = math.max(1, thread.head[KEYS_GIVEN] - given.keys_kept * 3 / 2), thread.head[KEYS_GIVEN] do
        order[#order + 1] = 'o:' .. number
    end
    if #order > 0 then
        for _, key in ipairs(redis.call('HMGET', name, unpack(order))) do
            local sequence = key and redis.call('HGET', name, 'k:' .. key)
            if sequence then
                found[#found + 1] = {key, sequence}
            end
        end
    end
    return found
end

-- Remembers the key of a batch; forgets the oldest, some at a time.
local function remember(thread, key, sequence)
    local fields, number, half = thread.fields, thread.head[KEYS_GIVEN] + 1, given.keys_kept / 2
    thread.head[KEYS_GIVEN] = number
    fields[#fields + 1] = 'k:' .. key
    fields[#fields + 1] = digits_of(sequence)
    fields[#fields + 1] = 'o:' .. number
    fields[#fields + 1] = key
    if number % half == 0 and number > given.keys_kept then
        local name, forgotten = thread.key .. ':found', {}
        for old = number - 3 * half + 1, number - 2 * half do
            forgotten[#forgotten + 1] = 'o:' .. old
        end
        for _, old in ipairs(redis.call('HMGET', name, unpack(forgotten))) do
            forgotten[#forgotten + 1] = old and 'k:' .. old or nil
        end
        redis.call('HDEL', name, unpack(forgotten))
    end
end

-- Makes a thread anew that is absent or expired.
local function open(thread, victims)
    for _, victim in ipairs(victims) do
        remove(victim.digest)
    end
    remove(thread.digest)
    redis.call('HSET', thread.key .. ':about', 'owner', given.owner, 'chatbot', given.chatbot, 'created', given.time)
    -- A field that stays, so that the hash does, with its deadline.
    thread.fields = {'born', given.nonce}
    thread.head = {now, 0, given.id, 0, 0, given.nonce, 0, given.nonce, 0, 0, 0, {}}
    thread.alive, thread.stored = true, false
end

-- Removes the messages of a thread, and the lines that they made.
local function empty(thread)
    local known = keys_of(thread)
    redis.call('UNLINK', thread.key .. ':messages', thread.key .. ':found')
    local head = thread.head
    thread.fields, thread.stored = {'born', head[BORN]}, false
    head[TOKENS], head[QUESTION], head[DEADLINE], head[KEYS_GIVEN], head[LINES] = 0, 0, 0, 0, nil
    for _, key in ipairs(known) do
        remember(thread, unpack(key))
    end
end

-- Adds messages {is a question, id, turn}, whose JSON is in ARGV from the second on, each as the one of a sequence.
local function put(thread, messages, sequences)
    local head, added, fields, turns = thread.head, thread.added, thread.fields, {}
    for place, message in ipairs(messages) do
        local sequence, id, turn = sequences[place], message[2], message[3]
        local digits = digits_of(sequence)
        added[#added + 1] = digits .. ' ' .. ARGV[place + 1]
        if message[1] then
            head[QUESTION] = sequence
        end
        if id then
            fields[#fields + 1] = 'm:' .. id
            fields[#fields + 1] = digits
        end
        if turn then
            local others = turns[turn]
            turns[turn] = others and others .. ' ' .. digits or digits
        end
        head[SEQUENCE] = math.max(head[SEQUENCE], sequence)
    end
    for turn, all in pairs(turns) do
        local others = thread.stored and redis.call('HGET', thread.key .. ':found', 't:' .. turn)
        fields[#fields + 1] = 't:' .. turn
        fields[#fields + 1] = others and others .. ' ' .. all or all
    end
end

-- Returns when the keys of a thread are to be dropped. A deadline that is about right is left: the slack allows for
-- that, and for a clock of the server that differs.
local function next_deadline(head)
    if not given.expiry then
        return -1
    end
    local wanted = math.min(math.ceil(math.max(head[ACTIVE] + given.expiry, head[LEASE])) + given.slack, 1e12)
    if head[DEADLINE] > 0 and math.abs(head[DEADLINE] - wanted) < given.slack / 2 then
        return head[DEADLINE]
    end
    return wanted
end

-- Gives all keys of a thread the same deadline, which those of its scope do not come before.
local function set_deadline(thread)
    local scope = {index, index .. ':current'}
    if thread.head[DEADLINE] < 0 then
        for _, part in ipairs(PARTS) do
            redis.call('PERSIST', thread.key .. part)
        end
        for _, key in ipairs(scope) do
            redis.call('PERSIST', key)
        end
        return
    end
    redis.call('PEXPIRE', thread.key .. ':messages', (thread.head[DEADLINE] - math.floor(now)) * 1000)
    local deadline = redis.call('PEXPIRETIME', thread.key .. ':messages')
    redis.call('PEXPIREAT', thread.key .. ':found', deadline)
    redis.call('PEXPIREAT', thread.key .. ':about', deadline)
    redis.call('PEXPIREAT', thread.key .. ':marks', deadline)
    for _, key in ipairs(scope) do
        if redis.call('PEXPIRETIME', key) < deadline then
            redis.call('PEXPIREAT', key, deadline)
        end
    end
end

-- Writes what was added to a thread, and its head.
local function close(thread)
    local messages, added, first, before = thread.key .. ':messages', thread.added, 1, thread.head[DEADLINE]
    local head, lease = thread.head, 0
    for _, record in pairs(head[LIVE]) do
        lease = math.max(lease, record[1])
    end
    head[LEASE], head[NONCE] = lease, given.nonce or head[NONCE]
    head[DEADLINE] = next_deadline(head)
    added[#added + 1] = cmsgpack.pack(head)
    set_fields(thread.key .. ':found', thread.fields)
    if thread.stored then
        -- In the place of the head that was, for a list without elements is gone, and its deadline with it.
        redis.call('LSET', messages, '-1', added[1])
        first = 2
    end
    for start = first, #added, 1000 do
        redis.call('RPUSH', messages, unpack(added, start, math.min(start + 999, #added)))
    end
    if head[DEADLINE] ~= before then
        set_deadline(thread)
    end
end

-- Removes the marks of messages that a thread, which is closed, does not have.
local function drop_marks(thread)
    local marks, found = thread.key .. ':marks', thread.key .. ':found'
    for _, id in ipairs(redis.call('HKEYS', marks)) do
        if redis.call('HEXISTS', found, 'm:' .. id) == 0 then
            redis.call('HDEL', marks, id)
        end
    end
end

-- Notes activity: the first that a script writes, unless it opens the thread. One that claims to be the ongoing
-- thread is so if there is no other.
local function touch(thread, claims, current)
    redis.call('ZADD', index, given.time, thread.digest)
    thread.head[ACTIVE] = now
    if claims and not current then
        redis.call('SET', index .. ':current', thread.digest)
        thread.head[DEADLINE] = 0
    end
end
