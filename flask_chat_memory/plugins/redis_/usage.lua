-- Returns the ledger of a scope.

return redis.call('HGETALL', index .. ':usage')
