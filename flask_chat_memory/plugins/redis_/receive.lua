-- Takes in a thread of another scope, whole or what it does not have of it yet.
--
-- The thread that takes it in notes which thread of which birth it has up to which sequence, so that a move which was
-- interrupted before the old thread was deleted can be repeated. The last of ARGV is the head of the old one.
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
local about, mark = thread.key .. ':about', 'from ' .. given.digest
local marked = redis.call('HGET', about, mark)
local known = redis.call('HGET', thread.key .. ':found', 'k:' .. given.key)
local value = given.born .. ' ' .. digits_of(given.sequence)
if not thread.alive then
    open(thread, superfluous(thread.digest))
    touch(thread, given.is_current, find_current(thread))
    local sequences = {}
    for place, message in ipairs(given.messages) do
        sequences[place] = message[4]
    end
    put(thread, given.messages, sequences)
    thread.head[SEQUENCE], thread.head[TOKENS] = given.sequence, given.used
    thread.head[LIVE] = cmsgpack.unpack(ARGV[#ARGV])[LIVE]
    for _, key in ipairs(given.known) do
        remember(thread, unpack(key))
    end
    given.about[#given.about + 1] = mark
    given.about[#given.about + 1] = value
    set_fields(about, given.about)
    -- To move is no activity.
    thread.head[ACTIVE] = given.active
    redis.call('ZADD', index, given.active, thread.digest)
    close(thread)
    return
end
local born, upto = (marked or ''):match('^(%S+) (%d+)$')
upto = born == given.born and tonumber(upto) or 0
if (upto == 0 and known) or given.sequence <= upto then
    return
end
-- The JSON of the others is moved up to where put() looks for it.
local newer, bodies = {}, {}
given.tokens = 0
for place, message in ipairs(given.messages) do
    if message[4] > upto then
        newer[#newer + 1] = message
        bodies[#bodies + 1] = ARGV[place + 1]
        given.tokens = given.tokens + given.tokens_of[place]
    end
end
for place, body in ipairs(bodies) do
    ARGV[place + 1] = body
end
touch(thread, true, current)
redis.call('HSET', about, mark, value)
if #newer > 0 then
    add(thread, newer, upto == 0 and given.key or nil)
end
close(thread)
trim(thread)
