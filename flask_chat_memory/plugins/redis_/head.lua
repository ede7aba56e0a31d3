-- What all scripts begin with: what they are given, the names of the keys, the places in the head of a thread.
--
-- KEYS[1] is the index of a scope. The names of all its other keys begin with that of the index, whose hash tag keeps
-- them together in one slot of a cluster:
--
--   <index>                    sorted set: digest of a thread -> last activity
--   <index>:current            string: digest of the ongoing thread
--   <index>:usage              hash: "<day> <what is counted> <model>" -> number; "owner" and "chatbot"
--   <index>:forgotten          hash: a ledger on its way to that of the forgotten, with a token
--   <index>:added:<token>      string: that ledger has been added to this one; expires
--   <index>:<digest>:messages  list: "<sequence, 16 digits> <JSON>" of each message; last of all the head, packed, so
--                              that one native command reads a thread
--   <index>:<digest>:found     hash: "m:" and the id of a message -> sequence; "t:" and a turn -> sequences;
--                              "k:" and an append key -> sequence of its batch; "o:" and a number -> key, in their order
--   <index>:<digest>:about     hash: what appends neither read nor write
--   <index>:<digest>:marks     hash: id of a message -> its mark, JSON
--
-- A thread that is being restored lies under <index>:<digest>-<nonce> until all of its messages are there.
--
-- Times are UNIX seconds by the clock of the caller; they come as text, too, for to format a float so that it survives is
-- slow. Nothing depends on that of the server but when keys are dropped.

local given = cmsgpack.unpack(ARGV[1])
local index = KEYS[1]
local now = given.now

-- The head is packed as an array, which is read and written faster than names are. LEASE is the latest of the live
-- records, turn -> {lease, sequence of the question, ids, text so far, whether its stop is wanted}; QUESTION is the newest
-- one's sequence, or 0; KEYS_GIVEN is how many there were so far; DEADLINE is -1 for none, 0 for one that is yet to be set;
-- LINES is JSON, which no script looks into, and absent from a thread of one line. NONCE tells what was written last.
local ACTIVE, LEASE, ID, SEQUENCE, TOKENS, NONCE, BATCH, BORN = 1, 2, 3, 4, 5, 6, 7, 8
local QUESTION, KEYS_GIVEN, DEADLINE, LIVE, LINES = 9, 10, 11, 12, 13
-- Set by a later release where a thread is to be read in another way; all that is said here is format 1.
local FORMAT = 14
local TEXT, STOP = 4, 5
