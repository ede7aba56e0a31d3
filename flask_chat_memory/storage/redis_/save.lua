is_there(given.name)
save(given.name)
