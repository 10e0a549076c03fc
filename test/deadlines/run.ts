/**
 * Requests with deadlines of minutes, a third of them of more than a quarter of an hour, beside callers who take a part of the slots: flex refuses by spells, some of the
 * provider's own batches never end, cheaper hours begin on the way, and a worker is killed.
 */
import { isMissed, type LogEntry } from '@sluice/shared/queue/request-log';
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';

const FLEXIBLE = 'gpt-5-mini';
const BATCHED = 'gpt-4o-mini';
const NIGHTLY = 'gpt-4.1-mini';
const ROUTES = ['flexible', 'batched', 'nightly'] as const;
const SPELL_MS = 15_000;
const SHORTEST_S = 45;
/** Those that are gathered have more: a batch is told to stop a quarter of an hour before it would be too late. */
const FOR_BATCHES_S = 16 * 60;
/** So many requests come at once for the route whose requests are gathered. */
const TOGETHER = 5;
const STUCK = 'this line is never answered in a batch';

export interface DeadlineRun {
  requests: number;
  seconds: number;
  /** Callers who wait for their answers, each with one call at a time. */
  callers: number;
}

export interface WaySum {
  way: string;
  requests: number;
  missed: number;
  /** In USD. */
  cost: number;
  standard: number;
}

export interface DeadlineFigures {
  ways: WaySum[];
  /** Accepted, and neither answered nor failed. */
  lost: number;
  /** Of callers who wait for their answers. */
  served: number;
}

export async function runDeadlines({ requests, seconds, callers }: DeadlineRun): Promise<DeadlineFigures> {
  const gateway = await startRealGateway({
    workers: 3,
    apis: 2,
    batches: { provider_poll_ms: 1_000 },
    providers: { openai: { concurrency: 24 } },
    routes: {
      flexible: [{ provider: 'openai', model: FLEXIBLE }],
      batched: { chain: [{ provider: 'openai', model: BATCHED }], provider_batches: true },
      nightly: [{ provider: 'openai', model: NIGHTLY }],
    },
    simulator: {
      latencyMs: () => 300 + Math.random() * 1_200,
      holdBatchLine: (text) => (text.includes(STUCK) ? new Promise(() => {}) : undefined),
      keepBodies: false,
      maxCalls: 10,
    },
  });
  try {
    await learnBatches(gateway);
    await makeNightCheap(gateway, seconds);
    const before = new Set((await gateway.log()).map(({ id }) => id));
    const until = Date.now() + 1_000 * seconds;
    const spells = setInterval(() => changeSpell(gateway), SPELL_MS);
    const kill = setTimeout(() => void gateway.workers[0]?.end('SIGKILL'), 500 * seconds);
    const [accepted, served] = await Promise.all([
      sendPlanned(gateway, requests, seconds),
      callUntil(gateway, callers, until),
    ]);
    const entries = await ends(gateway, accepted, seconds);
    clearInterval(spells);
    clearTimeout(kill);
    const planned = entries.filter(({ id, plan }) => plan && !before.has(id));
    return { ways: sumUp(planned), lost: accepted.size - planned.length, served };
  } finally {
    await gateway.stop();
  }
}

/** The hours of prices begin with a minute: the next one but one. */
async function makeNightCheap(gateway: Gateway, seconds: number): Promise<void> {
  const at = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  const begins = Date.now() + 60_000;
  const cheap = { from: at(begins), to: at(begins + 1_000 * seconds + 3_600_000) };
  await adminOf(gateway)('PUT', `/models/openai/${NIGHTLY}`, {
    prices: { input: 10, output: 10 },
    time_bands: [{ ...cheap, prices: { input: 1, output: 1 } }],
  });
}

/**
 * Batches are known to be fast, so that requests with little time are given to them. Those that miss each other while workers
 * start are sent again.
 */
async function learnBatches(gateway: Gateway): Promise<void> {
  for (let round = 1; ; round++) {
    const texts = Array.from({ length: TOGETHER }, (_, i) => `first ${round} ${i}`);
    const ids = await Promise.all(texts.map((text) => send(gateway, 'batched', text, 48 * 3_600)));
    const entries = await ends(gateway, new Set(ids), 600);
    if (entries.some(({ plan }) => plan?.via === 'provider_batch')) return;
  }
}

let isRefusing = false;
function changeSpell({ simulator }: Gateway): void {
  isRefusing = !isRefusing;
  simulator.clearScript();
  if (isRefusing) simulator.script({ match: { model: FLEXIBLE }, action: { noFlexCapacity: true } });
}

async function send(gateway: Gateway, model: string, text: string, deadlineS: number): Promise<string> {
  const { status, body } = await gateway.chat(
    { model, messages: [{ role: 'user', content: text }], max_tokens: 200 },
    { headers: { prefer: 'respond-async', 'x-gateway-deadline': `${deadlineS}s` } },
  );
  if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(body)}`);
  return body.id.slice(4);
}

/** They come evenly in the first half of the time, those that are to be gathered a few at once. */
async function sendPlanned(gateway: Gateway, requests: number, seconds: number): Promise<Set<string>> {
  const ids = new Set<string>();
  let gathered: [text: string, deadlineS: number][] = [];
  const sendGathered = async () => {
    const sent = gathered.map(([text, deadlineS]) => send(gateway, 'batched', text, deadlineS));
    gathered = [];
    for (const id of await Promise.all(sent)) ids.add(id);
  };
  for (let i = 0; i < requests; i++) {
    const model = ROUTES[i % ROUTES.length] ?? 'flexible';
    const deadlineS = Math.round(SHORTEST_S + Math.random() * Math.max(1, seconds / 2 - SHORTEST_S));
    const text = i % 10 === 1 ? `${STUCK} ${i}` : `request ${i}`;
    if (model === 'batched') gathered.push([text, FOR_BATCHES_S + deadlineS]);
    else ids.add(await send(gateway, model, text, deadlineS));
    if (gathered.length === TOGETHER) await sendGathered();
    await new Promise((resolve) => setTimeout(resolve, (500 * seconds) / requests));
  }
  await sendGathered();
  return ids;
}

async function callUntil(gateway: Gateway, callers: number, until: number): Promise<number> {
  let served = 0;
  const call = async () => {
    while (Date.now() < until) {
      const { status } = await gateway.chat({
        model: 'flexible',
        messages: [{ role: 'user', content: 'now' }],
      });
      if (status === 200) served++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return served;
}

/** The log, once all of these have ended, or when nothing can end any more. */
async function ends(gateway: Gateway, ids: ReadonlySet<string>, seconds: number): Promise<LogEntry[]> {
  const until = Date.now() + 1_000 * (seconds + FOR_BATCHES_S) + 120_000;
  for (;;) {
    const found = (await gateway.log()).filter(({ id }) => ids.has(id));
    if (found.length >= ids.size || Date.now() > until) return found;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

function sumUp(entries: readonly LogEntry[]): WaySum[] {
  const usd = (of: (entry: LogEntry) => number, some: readonly LogEntry[]) =>
    some.reduce((sum, entry) => sum + of(entry), 0) / 1e12;
  const wayOf = ({ plan, model }: LogEntry) => `${model}, ${plan?.via ?? 'not served'}`;
  const ways = [...new Set(entries.map(wayOf))].sort();
  const found = ways.map((way) => [way, entries.filter((entry) => wayOf(entry) === way)] as const);
  return found.map(([way, some]) => ({
    way,
    requests: some.length,
    missed: some.filter((entry) => isMissed(entry) || !entry.served).length,
    cost: usd(({ served }) => served?.cost ?? 0, some),
    standard: usd(({ served, plan }) => plan?.standardCost ?? served?.cost ?? 0, some),
  }));
}
