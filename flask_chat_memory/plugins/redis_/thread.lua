-- How a thread is found. Nothing in this file writes.

-- Returns a sequence as it stands before its message.
local function digits_of(sequence)
    return string.format('%016d', sequence)
end

-- Returns the head of a thread, or nothing.
local function read_head(digest)
    local packed = redis.call('LINDEX', index .. ':' .. digest .. ':messages', '-1')
    if not packed then
        return
    end
    local readable, head = pcall(cmsgpack.unpack, packed)
    if not readable or type(head) ~= 'table' or (not head[FORMAT] and type(head[LIVE]) ~= 'table') then
        error({err = 'CORRUPT head of a thread'})
    end
    if head[FORMAT] then
        error({err = 'NEWER ' .. tostring(head[FORMAT])})
    end
    return head
end

local function is_alive(head)
    return head[ACTIVE] >= given.cutoff or head[LEASE] > now
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

-- Tells whether a thread has a message of a sequence.
local function has(thread, sequence)
    local messages = thread.key .. ':messages'
    local count = redis.call('LLEN', messages) - 1
    local place = place_of(messages, count, sequence)
    return place < count and tonumber(redis.call('LINDEX', messages, place):sub(1, 16)) == sequence
end
