-- Lets lines of the ledger of a scope have these numbers.

redis.call('HSET', index .. ':usage', 'owner', given.owner, 'chatbot', given.chatbot, unpack(given.fields))
