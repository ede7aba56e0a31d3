-- Takes in a thread of another scope, whole or what it does not have of it yet.
--
-- The thread that takes it in notes of which thread, of which birth, it has what up to which sequence, what was written last
-- there, and what by that here; so a move which was interrupted before the old thread was deleted can be repeated.
-- If the thread is to be taken in by another one than it was prepared for, nothing is done, and that one's id returned.

local thread = look(given.digest)
local current = find_current(thread)
if not thread.alive and given.is_current and given.one and current then
    thread = look(current)
end
local goal = thread.alive and thread.head[ID] or given.id
if given.only_into and given.only_into ~= goal then
    return goal
end
local about, note = thread.key .. ':about', 'from ' .. given.digest
local noted = redis.call('HGET', about, note)
local known = redis.call('HGET', thread.key .. ':found', 'k:' .. given.key)
local value = table.concat({given.born, digits_of(given.sequence), given.written, given.nonce}, ' ')
local born, upto, written, nonce = (noted or ''):match('^(%S+) (%d+) (%S+) (%S+)$')
local is_known = born == given.born
if is_known and written == given.written then
    return
end
-- A copy to which nothing was written since is made again.
if not thread.alive or (is_known and thread.digest == given.digest and nonce == thread.head[NONCE]) then
    open(thread, superfluous(thread.digest))
    touch(thread, given.is_current, find_current(thread))
    local sequences = {}
    for place, message in ipairs(given.messages) do
        sequences[place] = message[4]
    end
    put(thread, given.messages, sequences)
    thread.head[SEQUENCE], thread.head[TOKENS] = given.sequence, given.used
    thread.head[LIVE], thread.head[LINES] = given.live, given.lines
    for _, key in ipairs(given.known) do
        remember(thread, unpack(key))
    end
    given.about[#given.about + 1] = note
    given.about[#given.about + 1] = value
    set_fields(about, given.about)
    for _, mark in ipairs(given.marks) do
        redis.call('HSET', thread.key .. ':marks', mark[1], mark[2])
    end
    -- To move is no activity.
    thread.head[ACTIVE] = given.active
    redis.call('ZADD', index, given.active, thread.digest)
    close(thread)
    return
end
upto = is_known and tonumber(upto) or 0
if upto == 0 and known then
    return
end
-- The JSON of the others is moved up to where put() looks for it.
local newer, bodies = {}, {}
given.tokens = 0
for place, message in ipairs(given.messages) do
    if message[4] > upto and given.visible[place] then
        newer[#newer + 1] = message
        bodies[#bodies + 1] = ARGV[place + 1]
        given.tokens = given.tokens + given.tokens_of[place]
    end
end
for place, body in ipairs(bodies) do
    ARGV[place + 1] = body
end
touch(thread, true, current)
redis.call('HSET', about, note, value)
if #newer > 0 then
    add(thread, newer, upto == 0 and given.key or nil)
end
for _, mark in ipairs(given.marks) do
    redis.call('HSETNX', thread.key .. ':marks', mark[1], mark[2])
end
thread.head[DEADLINE] = 0
close(thread)
trim(thread)
drop_marks(thread)
