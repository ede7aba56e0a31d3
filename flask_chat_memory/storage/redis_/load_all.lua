local records = {}
for place, name in ipairs(alive) do
  records[place] = redis.call('GET', record_of(name))
end
return { alive, records, last }
