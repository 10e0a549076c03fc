#!lua flags=allow-oom
-- Reserves more of the strict budgets for a request that calls again. Returns 0 when one does not cover it.
-- KEYS: reservationsKey, reservedKey, spentKey, money
-- ARGV: budget, month, monthMore, all, held, heldText, allText, more, allReserved, lapsesAt
-- INCLUDE: parts/reserve-more.lua

return reserveMore() and 1 or 0
