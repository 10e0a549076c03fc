/**
 * A script of the weight of the settle script: 20 keys, 27 arguments, and a log entry of 800 bytes among them. The settle
 * script itself settles a job once, so each command would need others before it.
 */
export const LUA = `
local jobId, token, settledMs = ARGV[2], ARGV[4], ARGV[5]
if redis.call('GET', KEYS[1] .. jobId .. ':lock') == token then return 'gone' end
redis.call('SET', KEYS[9], token, 'PX', settledMs)
redis.call('XADD', KEYS[12], 'MAXLEN', '~', 2000, '*', 'log', ARGV[15])
redis.call('HINCRBY', KEYS[13], ARGV[16] .. ':input', ARGV[18])
redis.call('HINCRBY', KEYS[13], ARGV[16] .. ':output', ARGV[21])
redis.call('HINCRBY', KEYS[14], ARGV[22], ARGV[17])
redis.call('DEL', KEYS[1] .. jobId, KEYS[1] .. jobId .. ':lock')
return 'settled'
`;

/** So many requests have keys in Redis at most. */
const REQUESTS = 5_000;
const HEAD = JSON.stringify({ protocol: 1, text: 'h'.repeat(120) });
const LOG = JSON.stringify({ text: 'x'.repeat(789) });
const OTHER_KEYS = `request-log ledger:2026-11-16 spent:research reservations:research reserved:research
  kept-answers:research kept-answer-bytes:research inbox:api-7f3a9c webhook-events`
  .split(/\s+/)
  .map((name) => `sluice:${name}`);

/** The same for every request. */
export const QUEUE_KEYS = ['', 'wait', 'prioritized', 'active', 'stalled', 'marker', 'meta', 'delayed'].map(
  (name) => `sluice:queue:openai:${name}`,
);

const idOf = (i: number) => `req_${1e12 + (i % REQUESTS)}`;

export function requestKeys(i: number): string[] {
  const id = idOf(i);
  return [`sluice:settled:${id}`, `sluice:idempotency:${id}`, `sluice:outcome:${id}`, ...OTHER_KEYS];
}

export function argumentsOf(i: number): (string | number)[] {
  const id = idOf(i);
  const job = ['worker', `${id}-0`, id, `token-${i}:1`, 660_000, `next-${i}`, 30_000, 'research'];
  const record = [1, 2, '', 0, HEAD, '', LOG, '["research","fast","openai","gpt-4o-mini"]'];
  const usage = [1234, 210, 0, 0, 95, '2026-11', `${id}:5000`, 5000, 1_763_304_000_000 + i, 67_108_864, ''];
  return [...job, ...record, ...usage];
}
