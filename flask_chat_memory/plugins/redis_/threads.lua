-- Returns the threads of a scope, those idle longest first: {digest, 1 if it is the ongoing one}; drops dead ones.

local current = find_current()
local found, dead = {}, {}
for _, digest in ipairs(redis.call('ZRANGE', index, 0, -1)) do
    local thread = look(digest)
    if thread.alive then
        found[#found + 1] = {digest, digest == current and 1 or 0}
    else
        dead[#dead + 1] = thread
    end
end
for _, thread in ipairs(dead) do
    remove(thread.digest)
end
return found
