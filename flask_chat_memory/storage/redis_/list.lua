-- A record may be gone alone, for a server that is short of memory may drop it.
local names = redis.call('ZRANGEBYLEX', index, given.from, given.to, 'LIMIT', 0, given.count)
local alive = {}
for _, name in ipairs(names) do
  if is_there(name) then
    alive[#alive + 1] = name
  else
    redis.call('ZREM', index, name)
  end
end
return { alive, names[given.count] or '' }
