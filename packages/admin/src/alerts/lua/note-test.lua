-- Adds notices that no firing has.
-- INCLUDE: parts/notices.lua

addNotices()
return 1
