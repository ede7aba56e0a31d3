return redis.call('GET', record_of(given.name))
