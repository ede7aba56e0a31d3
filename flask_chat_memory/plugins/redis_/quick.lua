-- Adds a batch to a thread with which nothing is unusual, and returns {thread id, sequence, 0}. What is unusual is left,
-- before anything is written, to the general script that follows.
--
-- It says over again what that does, but makes none of its functions: to make them costs more than all that is done here.

do
    local digest, batch = given.digest, given.messages
    local messages, found = index .. ':' .. digest .. ':messages', index .. ':' .. digest .. ':found'
    local turn = #batch > 0 and batch[1][3]
    local usual = #batch > 0 and #batch <= 100 and given.id == (given.only_into or given.id) and redis.call('GET', index .. ':current') == digest
    local packed = usual and redis.call('LINDEX', messages, '-1')
    local read, head = pcall(cmsgpack.unpack, packed or '')
    usual = packed and read and type(head) == 'table' and type(head[LIVE]) == 'table'
        and (head[ACTIVE] >= given.cutoff or head[LEASE] > now) and head[NONCE] ~= given.nonce
    local known = usual and redis.call('HMGET', found, 'k:' .. (given.key or ''), 'm:' .. (given.reply_to or ''),
        't:' .. (turn or ''))
    if usual and (given.key and known[1] or given.reply_to and not known[2]) then
        usual = false
    end
    if usual and given.max_messages and redis.call('LLEN', messages) - 1 + #batch > given.max_messages then
        usual = false
    end
    if usual then
        local first, first_digits, turns = head[SEQUENCE] + 1, nil, known[3]
        local added, fields, live = {}, {}, head[LIVE]
        for place, message in ipairs(batch) do
            local sequence = head[SEQUENCE] + place
            local digits = string.format('%016d', sequence)
            added[place] = digits .. ' ' .. ARGV[place + 1]
            first_digits = first_digits or digits
            if message[1] then
                head[QUESTION] = sequence
            end
            if message[2] then
                fields[#fields + 1] = 'm:' .. message[2]
                fields[#fields + 1] = digits
            end
            usual = usual and message[3] == turn
            turns = turns and turns .. ' ' .. digits or digits
        end
        if turn then
            fields[#fields + 1] = 't:' .. turn
            fields[#fields + 1] = turns
        end
        if given.key then
            local number = head[KEYS_GIVEN] + 1
            usual = usual and (number % (given.keys_kept / 2) ~= 0 or number <= given.keys_kept)
            head[KEYS_GIVEN] = number
            fields[#fields + 1] = 'k:' .. given.key
            fields[#fields + 1] = first_digits
            fields[#fields + 1] = 'o:' .. number
            fields[#fields + 1] = given.key
        end
        if given.begins then
            live[given.begins[1]] = {given.begins[2], first, given.begins[3]}
        elseif given.ends then
            live[given.ends] = nil
        end
        head[LEASE] = 0
        for _, record in pairs(live) do
            head[LEASE] = math.max(head[LEASE], record[1])
        end
        local deadline = -1
        if given.expiry then
            deadline = math.min(math.ceil(math.max(now + given.expiry, head[LEASE])) + given.slack, 1e12)
        end
        if usual and #fields > 0 and math.abs(head[DEADLINE] - deadline) < given.slack / 2
            and (head[DEADLINE] > 0) == (deadline > 0) then
            redis.call('ZADD', index, given.time, digest)
            redis.call('HSET', found, unpack(fields))
            head[ACTIVE], head[SEQUENCE], head[TOKENS] = now, head[SEQUENCE] + #batch, head[TOKENS] + given.tokens
            head[NONCE], head[BATCH] = given.nonce, first
            added[#added + 1] = cmsgpack.pack(head)
            redis.call('LSET', messages, '-1', added[1])
            redis.call('RPUSH', messages, unpack(added, 2))
            return {head[ID], first, 0}
        end
    end
end
