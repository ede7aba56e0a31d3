-- Adds a batch; begins or ends a turn with it. Returns {thread id, sequence, 1 if the key was known}, or nothing.
--
-- Where the lines of the thread may change with it, given.lines are those that it has afterwards, if given.seen is what was
-- written last. Else nothing is done, and behind {thread id, 0, 0} stands what the lines are to be made of: what was written
-- last, the highest sequence, that of the question which is answered or replaced, the lines.

local names = {'k:' .. (given.key or ''), 'm:' .. (given.reply_to or '')}
local thread = look(given.digest, names)
local current = find_current(thread)
if not thread.alive and given.one and current then
    thread = look(current, names)
end
local known, answered = unpack(thread.read)

-- Ends the turn and nothing else.
local function only_end()
    if given.ends and thread.alive and thread.head[LIVE][given.ends] then
        thread.head[LIVE][given.ends] = nil
        given.nonce = thread.head[NONCE]
        close(thread)
    end
end

-- Adds what an answer has cost to the ledger.
local function count()
    for place = 1, #given.usage, 2 do
        redis.call('HINCRBY', index .. ':usage', given.usage[place], given.usage[place + 1])
    end
    if #given.usage > 0 then
        redis.call('HSET', index .. ':usage', 'owner', given.owner, 'chatbot', given.chatbot)
    end
end

-- Tells whether a stored batch is the one that is sent again because its answer was lost.
local function is_ours(sequence)
    local first = given.again and given.messages[1]
    local id = first and first[2]
    return id and tonumber(redis.call('HGET', thread.key .. ':found', 'm:' .. id)) == sequence
end

-- The very same call, sent again because its answer was lost.
if thread.alive and thread.head[NONCE] == given.nonce then
    return {thread.head[ID], thread.head[BATCH], 0}
end
if thread.alive and known and given.key then
    only_end()
    return {thread.head[ID], tonumber(known), is_ours(tonumber(known)) and 0 or 1}
end
if given.replaces and not (thread.alive and thread.digest == given.digest and has(thread, given.replaces)) then
    return {given.id, 0, 0}
end
if #given.usage > 0 then
    redis.call('HLEN', index .. ':usage')
end
if given.reply_to and not (thread.alive and answered) then
    only_end()
    -- What is sent again may have been counted.
    if not given.again then
        count()
    end
    return false
end
local goal = thread.alive and thread.head[ID] or given.id
if #given.messages == 0 then
    only_end()
    return {goal, 0, 0}
end
if given.only_into and given.only_into ~= goal then
    return {goal, 0, 0}
end
if given.replaces or (given.reply_to and thread.head[LINES]) then
    if thread.head[NONCE] ~= given.seen then
        local question = given.replaces or tonumber(answered)
        return {goal, 0, 0, thread.head[NONCE], thread.head[SEQUENCE], question, thread.head[LINES] or false}
    end
    thread.head[LINES] = given.lines
end
if not thread.alive then
    open(thread, superfluous(thread.digest))
    current = find_current(thread)
    if given.title then
        redis.call('HSET', thread.key .. ':about', 'title', given.title)
    end
end
touch(thread, true, current)
local first, ended = add(thread, given.messages, given.key), nil
if given.begins then
    local turn, lease, ids = unpack(given.begins)
    thread.head[LIVE][turn] = {lease, first, ids, '', false}
elseif given.ends then
    ended = thread.head[LIVE][given.ends]
    thread.head[LIVE][given.ends] = nil
end
close(thread)
trim(thread, ended)
count()
return {thread.head[ID], first, 0}
