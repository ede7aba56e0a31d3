-- The arguments of all scripts, and how a thread is found. Nothing in this file writes.
--
-- KEYS[1] is the index of a scope. The names of all its other keys begin with that of the index, whose hash tag keeps
-- them together in one slot of a cluster:
--
--   <index>                    sorted set: digest of a thread -> last activity
--   <index>:current            string: digest of the ongoing thread
--   <index>:<digest>:messages  list: "<sequence, 16 digits> <JSON>" of each message; last of all the head, packed, so
--                              that one native command reads a thread
--   <index>:<digest>:found     hash: "m:" and the id of a message -> sequence; "t:" and a turn -> sequences;
--                              "k:" and an append key -> sequence of its batch; "o:" and a number -> key, in their order
--   <index>:<digest>:about     hash: what appends neither read nor write
--
-- Times are UNIX seconds by the clock of the caller. Nothing depends on that of the server but when keys are dropped.

local given = cmsgpack.unpack(ARGV[1])
local index = KEYS[1]
local now = given.now

local function text(whole)
    return string.format('%d', whole)
end

-- Returns {active, lease, id, sequence, tokens, nonce, batch, born, question, keys, deadline, live}, or nothing.
--
-- lease: the latest of the live records, turn -> {lease, sequence of the question, ids}; question: the newest one's
-- sequence, or 0; keys: how many were given so far; deadline: -1 is none, 0 is one that is yet to be set.
local function read_head(digest)
    local packed = redis.call('LINDEX', index .. ':' .. digest .. ':messages', -1)
    if not packed then
        return
    end
    local readable, head = pcall(cmsgpack.unpack, packed)
    if not readable or type(head) ~= 'table' or type(head[12]) ~= 'table' then
        error({err = 'CORRUPT head of a thread'})
    end
    return head
end

local function is_alive(head)
    return head[1] >= given.cutoff or head[2] > now
end

-- Returns the head of a thread that is alive, or nothing.
local function find(digest)
    local head = read_head(digest)
    return head and is_alive(head) and head or nil
end

-- Returns the digest of the scope's ongoing thread, or nothing.
--
-- thread: one of which it is known already whether it is alive.
local function find_current(thread)
    local digest = redis.call('GET', index .. ':current')
    if thread and digest == thread.digest then
        return thread.alive and digest or nil
    end
    return digest and find(digest) and digest or nil
end

-- Returns the place of the first message, of so many, whose sequence is not smaller.
local function place_of(messages, count, sequence)
    local low, high = 0, count
    while low < high do
        local middle = math.floor((low + high) / 2)
        local found = tonumber(redis.call('LINDEX', messages, middle):sub(1, 16))
        if not found then
            error({err = 'CORRUPT message of a thread'})
        elseif found < sequence then
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end
