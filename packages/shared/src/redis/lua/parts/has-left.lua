-- Whether the workspace has left the shard, or is about to (docs/adr/0046). A cell of one shard has no `fenceKey`.
local hasLeft = fenceKey and string.sub(redis.call('GET', fenceKey) or '', -6) == 'closed'
