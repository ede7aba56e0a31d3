-- Adds a batch to a thread with which nothing is unusual, and returns {thread id, sequence, 0}. What is unusual is left,
-- before anything is written, to the general script that follows.
--
-- It says over again what that does, but makes none of its functions: to make them costs more than all that is done here.

repeat
    local digest, batch, name = given.digest, given.messages, index .. ':' .. given.digest
    local messages, found = name .. ':messages', name .. ':found'
    local turn = #batch > 0 and batch[1][3] or nil
    local ongoing = redis.call('GET', index .. ':current')
    local packed, other = redis.call('LINDEX', messages, '-1'), nil
    if not packed or not ongoing or #batch == 0 or #batch > 100 or (given.only_into or given.id) ~= given.id
        or given.replaces then
        break
    end
    local readable, head = pcall(cmsgpack.unpack, packed)
    if not readable or type(head) ~= 'table' or type(head[LIVE]) ~= 'table' or head[FORMAT] or head[NONCE] == given.nonce
        or (head[ACTIVE] < given.cutoff and head[LEASE] <= now) or (head[LINES] and given.reply_to) then
        break
    end
    if ongoing ~= digest then
        packed = redis.call('LINDEX', index .. ':' .. ongoing .. ':messages', '-1')
        readable, other = pcall(cmsgpack.unpack, packed or '')
        if not packed or not readable or type(other) ~= 'table' or not other[LIVE]
            or (other[ACTIVE] < given.cutoff and other[LEASE] <= now) then
            break
        end
    end
    local known, answered, turns = unpack(redis.call('HMGET', found, 'k:' .. (given.key or ''),
        'm:' .. (given.reply_to or ''), 't:' .. (turn or '')))
    if (given.key and known) or (given.reply_to and not answered) then
        break
    end
    if given.max_messages and redis.call('LLEN', messages) - 1 + #batch > given.max_messages then
        break
    end

    local last, added, fields, first, is_one_turn = head[SEQUENCE], {}, {}, nil, true
    for place, message in ipairs(batch) do
        local digits = string.format('%016d', last + place)
        first = first or digits
        added[place] = digits .. ' ' .. ARGV[place + 1]
        if message[1] then
            head[QUESTION] = last + place
        end
        if message[2] then
            fields[#fields + 1] = 'm:' .. message[2]
            fields[#fields + 1] = digits
        end
        is_one_turn = is_one_turn and message[3] == turn
        turns = turns and turns .. ' ' .. digits or digits
    end
    if turn then
        fields[#fields + 1] = 't:' .. turn
        fields[#fields + 1] = turns
    end
    if given.key then
        head[KEYS_GIVEN] = head[KEYS_GIVEN] + 1
        if head[KEYS_GIVEN] % (given.keys_kept / 2) == 0 then
            break
        end
        fields[#fields + 1] = 'k:' .. given.key
        fields[#fields + 1] = first
        fields[#fields + 1] = 'o:' .. head[KEYS_GIVEN]
        fields[#fields + 1] = given.key
    end
    if given.begins then
        head[LIVE][given.begins[1]] = {given.begins[2], last + 1, given.begins[3], '', false}
    elseif given.ends then
        head[LIVE][given.ends] = nil
    end
    head[LEASE] = 0
    for _, record in pairs(head[LIVE]) do
        head[LEASE] = math.max(head[LEASE], record[1])
    end
    local deadline = -1
    if given.expiry then
        deadline = math.min(math.ceil(math.max(now + given.expiry, head[LEASE])) + given.slack, 1e12)
    end
    if not is_one_turn or #fields == 0 or (head[DEADLINE] > 0) ~= (deadline > 0)
        or math.abs(head[DEADLINE] - deadline) >= given.slack / 2 then
        break
    end

    if #given.usage > 0 then
        redis.call('HSET', index .. ':usage', 'owner', given.owner, 'chatbot', given.chatbot)
    end
    redis.call('ZADD', index, given.time, digest)
    redis.call('HSET', found, unpack(fields))
    head[ACTIVE], head[SEQUENCE], head[TOKENS] = now, last + #batch, head[TOKENS] + given.tokens
    head[NONCE], head[BATCH] = given.nonce, last + 1
    added[#added + 1] = cmsgpack.pack(head)
    redis.call('LSET', messages, '-1', added[1])
    redis.call('RPUSH', messages, unpack(added, 2))
    for place = 1, #given.usage, 2 do
        redis.call('HINCRBY', index .. ':usage', given.usage[place], given.usage[place + 1])
    end
    return {head[ID], last + 1, 0}
until true
