-- Drops the note that what was put aside has been added.

redis.call('DEL', index .. ':added:' .. given.token)
