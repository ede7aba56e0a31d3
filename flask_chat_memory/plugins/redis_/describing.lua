-- How a thread is described without its messages. Nothing in this file writes.

local DESCRIPTION = {'owner', 'chatbot', 'created', 'title', 'pinned', 'archived', 'configuration'}

-- Returns {head, count of messages, fields of "about"} of a thread, or nothing.
local function describe(digest, or_expired)
    local key = index .. ':' .. digest
    local head = read_head(digest)
    if not head or not (or_expired or is_alive(head)) then
        return
    end
    local count = redis.call('LLEN', key .. ':messages') - 1
    return {cmsgpack.pack(head), count, redis.call('HMGET', key .. ':about', unpack(DESCRIPTION))}
end
