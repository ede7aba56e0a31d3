-- How a thread is removed.

local function remove(digest)
    local key, current = index .. ':' .. digest, redis.call('GET', index .. ':current')
    -- A key of another type ends this here.
    redis.call('HLEN', key .. ':found')
    redis.call('ZREM', index, digest)
    redis.call('UNLINK', key .. ':messages', key .. ':found', key .. ':about', key .. ':marks')
    if current == digest then
        redis.call('DEL', index .. ':current')
    end
end
