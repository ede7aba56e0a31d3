-- Removes a thread with all that belongs to it; returns 1 if there was one.
-- With a nonce to compare: only if nothing was written since, and then 1 as well if it was gone already.

local head = find(given.digest)
if given.unchanged and head and (head[LEASE] > now or head[NONCE] ~= given.unchanged) then
    return 0
end
remove(given.digest)
return (head or given.unchanged) and 1 or 0
