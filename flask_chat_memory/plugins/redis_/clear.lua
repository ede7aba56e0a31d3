-- Removes the messages and the turns that are being answered; keeps the thread and the keys of its appends.

local thread = look(given.digest)
find_current(thread)
if thread.alive then
    touch(thread, false)
    empty(thread)
    thread.head[LIVE] = {}
    close(thread)
    drop_marks(thread)
end
