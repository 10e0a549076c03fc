-- Finds the lease of a batch that counts. When the first lines of a batch are handed to its provider, the lease is held by
-- nobody for good, and a second one counts. A version that does not know this never gets the first lease, and so cannot end
-- the batch before its provider has.

local handedKey = firstLeaseKey .. ':handed-over'
local leaseKey = redis.call('GET', firstLeaseKey) == 'handed over' and handedKey or firstLeaseKey
