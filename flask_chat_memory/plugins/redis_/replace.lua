-- Replaces all messages: ascending sequences are kept, the others numbered on; none is used twice.

local thread = look(given.digest)
local current = find_current(thread)
if not thread.alive then
    open(thread, superfluous(thread.digest))
    current = find_current(thread)
end
touch(thread, true, current)
empty(thread)
local sequences, previous = {}, 0
for place, message in ipairs(given.messages) do
    local sequence = message[4]
    if not sequence or sequence <= previous then
        sequence = math.max(previous, thread.head[SEQUENCE]) + 1
    end
    sequences[place], previous = sequence, sequence
end
put(thread, given.messages, sequences)
thread.head[TOKENS] = given.tokens
close(thread)
drop_marks(thread)
