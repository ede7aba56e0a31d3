local count = 0
for _, name in ipairs(given.names) do
  local record = record_of(name)
  local time = is_there(name) and tonumber(string.match(redis.call('GETRANGE', record, 0, 40), '^%S+'))
  if time and time < given.before then
    remove(name)
    count = count + 1
  end
end
return count
