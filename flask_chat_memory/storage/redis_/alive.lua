-- The next names, and those of them whose record is there: it may be gone alone, for a server that is short of memory
-- may drop it.
local names = redis.call('ZRANGEBYLEX', index, given.from, given.to, 'LIMIT', 0, given.count)
local alive = {}
for _, name in ipairs(names) do
  if is_there(name) then
    alive[#alive + 1] = name
  else
    redis.call('ZREM', index, name)
  end
end
local last = names[given.count] or ''
