return remove(given.name) and 1 or 0
