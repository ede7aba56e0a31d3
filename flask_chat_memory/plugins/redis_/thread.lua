-- The arguments of all scripts, and how a thread is found. Nothing in this file writes.
--
-- KEYS[1] is the index of a scope. The names of all its other keys begin with that of the index, whose hash tag keeps
-- them together in one slot of a cluster:
--
--   <index>                    sorted set: digest of a thread -> last activity
--   <index>:current            string: digest of the ongoing thread
--   <index>:<digest>           hash: the head of a thread
--   <index>:<digest>:keys      hash: append key -> sequence of its batch
--   <index>:<digest>:messages  sorted set: "<sequence> <JSON>" -> sequence; last of all, so that one native command
--                              reads a thread, "#<last activity> <latest lease>" -> infinity
--   <index>:<digest>:found     hash: "m" and the id of a message -> sequence; "t" and a turn -> sequences
--
-- The last three are apart from the head because a small hash is searched from its start.
--
-- Times are UNIX seconds by the clock of the caller. Nothing depends on that of the server but when keys are dropped.

local given = cmsgpack.unpack(ARGV[1])
local index = KEYS[1]
local now = given.now

-- Times arrive as text, too: to format a float so that it survives is slow.
local function text(whole)
    return string.format('%d', whole)
end

-- Returns the latest lease of live records, turn -> {lease, sequence of the question, ids}.
local function latest_of(live)
    local latest = 0
    for _, record in pairs(live) do
        latest = math.max(latest, record[1])
    end
    return latest
end

local function unpack_live(packed)
    return packed and packed ~= '' and cmsgpack.unpack(packed) or {}
end

local function is_alive(active, latest)
    return active >= given.cutoff or latest > now
end

-- Returns the id of a thread that is alive, and its packed live records; else nothing.
local function find(digest)
    local head = redis.call('HMGET', index .. ':' .. digest, 'id', 'active', 'live')
    if head[1] and is_alive(tonumber(head[2]), latest_of(unpack_live(head[3]))) then
        return head[1], head[3]
    end
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
