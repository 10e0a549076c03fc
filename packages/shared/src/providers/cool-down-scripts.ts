/** The Lua behind cool-downs.ts. A stored cool-down is `<until>`, or `<until> <asked>` where it is probed in between. */
import { DURATION_MS } from '../contract/common.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';

/** No cool-down is longer, because no `max_cooldown_ms` is. */
export const LONGEST_MS = DURATION_MS.max;

const READ = `
local function read(key, subject)
  local stored = redis.call('HGET', key, subject) or '0'
  local untilThen, asked = string.match(stored, '^(%d+) ?(%d*)$')
  return tonumber(untilThen or 0), tonumber(asked) or tonumber(untilThen or 0)
end
local function write(key, subject, untilThen, asked)
  local stored = string.format('%d', untilThen)
  if asked > untilThen then stored = stored .. ' ' .. string.format('%d', asked) end
  redis.call('HSET', key, subject, stored)
  redis.call('PUBLISH', key, cjson.encode({subject, stored}))
end
`;

// A later cool-down must not shorten an earlier one that lasts longer.
export const extendScript = createScript<null>(
  'sluiceCoolDown',
  `${ALSO_WHEN_FULL}${READ}
local untilNow, askedNow = read(KEYS[1], ARGV[1])
write(KEYS[1], ARGV[1], math.max(untilNow, tonumber(ARGV[2])), math.max(askedNow, tonumber(ARGV[3])))
`,
);

/** Arguments: the subject, the moment, and until when nobody else probes. 1 when the caller may call. */
export const probeScript = createScript<0 | 1>(
  'sluiceProbeCoolDown',
  `${ALSO_WHEN_FULL}${READ}
local untilNow, askedNow = read(KEYS[1], ARGV[1])
local now = tonumber(ARGV[2])
if untilNow > now then return 0 end
if askedNow > now then write(KEYS[1], ARGV[1], math.min(tonumber(ARGV[3]), askedNow), askedNow) end
return 1
`,
);

/** Arguments: the subjects. */
export const liftScript = createScript<number>(
  'sluiceLiftCoolDowns',
  `${ALSO_WHEN_FULL}
local lifted = 0
for _, subject in ipairs(ARGV) do
  lifted = lifted + redis.call('HDEL', KEYS[1], subject)
  redis.call('PUBLISH', KEYS[1], cjson.encode({subject, '0'}))
end
return lifted
`,
);

/** Arguments: the moment, then the subjects. A cool-down that was prolonged meanwhile stays. */
export const forgetScript = createScript<null>(
  'sluiceForgetCoolDowns',
  `${READ}
for i = 2, #ARGV do
  local untilNow, asked = read(KEYS[1], ARGV[i])
  if asked <= tonumber(ARGV[1]) or untilNow > ARGV[1] + ${LONGEST_MS} then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
`,
);
