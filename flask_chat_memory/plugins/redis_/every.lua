-- Returns what is known of threads, expired or not. Each of KEYS is the index of a scope; given.digests has a thread for
-- each. 0 for one that is gone, 1 for one that cannot be read.

local found = {}
for place, name in ipairs(KEYS) do
    index = name
    local readable, thread = pcall(describe, given.digests[place], true)
    found[place] = readable and (thread or 0) or 1
end
return found
