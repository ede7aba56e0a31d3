is_there(given.name)
redis.call('ZADD', index, 0, given.name)
redis.call('SET', record_of(given.name), given.time .. ' ' .. ARGV[2])
