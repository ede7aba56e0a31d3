-- KEYS[1] is the index of a top folder: a sorted set of the names of its documents, all with the same score.
local index = KEYS[1]
local given = cmsgpack.unpack(ARGV[1])

local function record_of(name)
  return index .. ':' .. redis.sha1hex(name)
end

-- Fails, before anything is written, if the key is of another type.
local function is_there(name)
  return redis.call('STRLEN', record_of(name)) > 0
end

local function remove(name)
  local there = is_there(name)
  redis.call('ZREM', index, name)
  redis.call('DEL', record_of(name))
  return there
end

local function save(name)
  redis.call('ZADD', index, 0, name)
  redis.call('SET', record_of(name), given.time .. ' ' .. ARGV[2])
end
