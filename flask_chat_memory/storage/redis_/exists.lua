return is_there(given.name) and 1 or 0
