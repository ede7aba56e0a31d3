-- Puts the ledger of a scope aside, so that what is counted from now on is apart, and returns it with its token; what
-- was put aside before comes first.

local aside = index .. ':forgotten'
if redis.call('EXISTS', aside) == 0 then
    if redis.call('EXISTS', index .. ':usage') == 0 then
        return {}
    end
    redis.call('RENAME', index .. ':usage', aside)
    redis.call('HSET', aside, 'token', given.token)
end
return redis.call('HGETALL', aside)
