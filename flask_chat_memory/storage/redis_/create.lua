if is_there(given.name) then
  return 0
end
save(given.name)
return 1
