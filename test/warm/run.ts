/** A batch whose lines begin alike, at a provider with four keys of as many organisations, each with a cache of its own. */
import type { Spend } from '@sluice/shared/admin-api';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, toJsonl } from '../helpers/batches.js';
import { startRealGateway } from '../helpers/gateway.js';
import { sdkFor } from '../helpers/sdk.js';

type SpendRow = Spend['data'][number];

export interface WarmRun {
  title: string;
  kind: 'openai' | 'anthropic';
  /** Whether the route keeps prompts together. */
  isWarm: boolean;
}

export interface Figures extends WarmRun {
  lines: number;
  failed: number;
  cachedShare: number;
  cost: number;
  /** What the tokens of the ledger cost by the price list. */
  byTokens: number;
  seconds: number;
  /** How long after the first answer the next call began, in ms. */
  followedMs: number;
  /** When each call began after the first one, in ms. */
  starts: number[];
  /** Calls during which no other ran, although lines were left. Everybody waited for them. */
  waitedFor: number;
  /** The longest call, in ms. */
  callMs: number;
}

/** A call takes longer than what a busy machine adds to it. */
export const LATENCY_MS = 3_000;
const KEYS = ['A', 'B', 'C', 'D'];
const CHARS_PER_TOKEN = 4;
const MODELS = { openai: 'gpt-4o-mini', anthropic: 'claude-sonnet-4-5' };
const SENTENCE = 'The harvest of that year was good, and the market was full of people. ';

export async function runWarm(run: WarmRun, lines: number, prefixTokens: number): Promise<Figures> {
  const { kind, isWarm } = run;
  const model = MODELS[kind];
  const base = kind === 'openai' ? 'OPENAI_BASE_URL' : 'ANTHROPIC_BASE_URL';
  const keys = KEYS.map((name) => ({ name: name.toLowerCase(), api_key: `\${POOL_${name}}` }));
  const chain = [{ provider: 'pool', model }];
  const gateway = await startRealGateway({
    workers: 2,
    providers: { pool: { kind, base_url: `\${${base}}`, keys } },
    routes: { lines: isWarm ? { chain, warm_prefix_tokens: 4_000 } : chain },
    simulator: { latencyMs: LATENCY_MS, keepBodies: false, caches: {} },
    env: Object.fromEntries(KEYS.map((name) => [`POOL_${name}`, `sk-${name}`])),
  });
  try {
    const client = sdkFor(gateway, { timeout: 600_000 });
    const length = prefixTokens * CHARS_PER_TOKEN;
    const text = SENTENCE.repeat(Math.ceil(length / SENTENCE.length)).slice(0, length);
    const mark = kind === 'anthropic' ? { cache_control: { type: 'ephemeral' } } : {};
    const system = { role: 'system', content: [{ type: 'text', text, ...mark }] };
    const file = Array.from({ length: lines }, (_, i) => ({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: {
        model: 'lines',
        max_tokens: 50,
        messages: [system, { role: 'user', content: `Question ${i}` }],
      },
    }));
    const { id } = await createBatch(client, toJsonl(file));
    const ended = await batchEnd(client, id);
    const { calls } = gateway.simulator;
    const starts = calls.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
    const firstEnd = Math.min(...calls.map(({ endedAt }) => endedAt ?? Number.POSITIVE_INFINITY));
    const { body } = await adminOf(gateway)('GET', '/spend?by=route&since=1d');
    const [row] = body.data as SpendRow[];
    const { body: models } = await adminOf(gateway)('GET', `/models?provider=${kind}`);
    const prices = models.data.find((each: { id: string }) => each.id === model)?.prices ?? {};
    const log = await gateway.log();
    return {
      ...run,
      ...figuresOf(row, prices),
      lines,
      starts: starts.map((at) => at - (starts[0] ?? 0)),
      failed: lines - (ended.request_counts?.completed ?? 0),
      seconds: ((starts.at(-1) ?? 0) - (starts[0] ?? 0) + LATENCY_MS) / 1000,
      followedMs: (starts[1] ?? 0) - firstEnd,
      waitedFor: countWaitedFor(calls),
      callMs: Math.max(...log.map(({ served }) => served?.latencyMs ?? 0)),
    };
  } finally {
    await gateway.stop();
  }
}

interface Times {
  startedAt: number;
  endedAt: number | null;
}

/** The order of beginnings and ends counts, and not how long anything took. */
function countWaitedFor(calls: readonly Times[]): number {
  const inOrder = [...calls].sort((a, b) => a.startedAt - b.startedAt);
  let lastEnd = Number.NEGATIVE_INFINITY;
  return inOrder.slice(0, -1).filter(({ startedAt, endedAt }, i) => {
    if (endedAt === null) return false;
    const isAlone = startedAt >= lastEnd && (inOrder[i + 1]?.startedAt ?? 0) >= endedAt;
    lastEnd = Math.max(lastEnd, endedAt);
    return isAlone;
  }).length;
}

function figuresOf(row: SpendRow | undefined, prices: Record<string, number | undefined>) {
  const {
    input_tokens: input = 0,
    cached_input_tokens: cached = 0,
    cache_write_tokens: written = 0,
  } = row ?? {};
  const { output_tokens: output = 0 } = row ?? {};
  const { input: price = 0, cached_input: cachedPrice = price, cache_write: writePrice = price } = prices;
  return {
    cachedShare: cached / Math.max(1, input + cached + written),
    cost: Number(row?.cost_usd ?? 0),
    byTokens:
      (input * price + cached * cachedPrice + written * writePrice + output * (prices.output ?? 0)) /
      1_000_000,
  };
}
