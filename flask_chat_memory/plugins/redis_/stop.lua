-- Notes that a turn is to end; returns 1 if it is there. This is no activity.

local thread = look(given.digest)
local record = thread.alive and thread.head[LIVE][given.turn]
if not record then
    return 0
end
record[STOP] = true
close(thread)
return 1
