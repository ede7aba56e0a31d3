local times = {}
for place, name in ipairs(alive) do
  times[place] = string.match(redis.call('GETRANGE', record_of(name), 0, 40), '^%S+') or ''
end
return { alive, times, last }
