-- Drops what was put aside under a token.

if redis.call('HGET', index .. ':forgotten', 'token') == given.token then
    redis.call('DEL', index .. ':forgotten')
end
