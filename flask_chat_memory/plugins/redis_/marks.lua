-- Returns the marks of a thread.

return find(given.digest) and redis.call('HGETALL', index .. ':' .. given.digest .. ':marks') or {}
