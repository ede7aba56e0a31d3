local record = redis.call('GET', record_of(given.name))
local time, body = (record or ''):match('^(%S+) (.*)$')
if body ~= ARGV[2] then
  return 0
end
redis.call('SET', record_of(given.name), time .. ' ' .. ARGV[3])
return 1
