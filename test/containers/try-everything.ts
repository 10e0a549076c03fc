import type { Spend, Status } from '@sluice/shared/admin-api';
import { until } from '../helpers/until.js';
import { AlertReceiver } from './alerts.js';
import { type BatchOutcome, runBatchDuring } from './batch.js';
import { type Account, Callers } from './callers.js';
import { measureIdle } from './idle.js';
import type { Stack } from './stack.js';

export type Tell = (what: string, seen: string, holds: boolean) => void;

const CALLERS = 8;
/** Where processes are killed, so that each of them has calls in flight. */
const CALLS_A_SECOND = 50;
const FIRST_ANSWER_WITHIN_S = 60;
const chat = (content: string) => JSON.stringify({ model: 'fast', messages: [{ role: 'user', content }] });
const LARGE_BODY = chat('x'.repeat(9_000_000));
const SLOW = 'take your time';
const SLOW_MS = 8_000;
const IN_FLIGHT = 20;
const BRIEFLY = 'take two seconds';
const BRIEFLY_MS = 2_000;
/** A killed worker's calls have ended at another one. A call that two kills hit is answered with 502, as it should be. */
const TAKEN_OVER_MS = 15_000;
/** What the balancer does when a process dies with a call: on a connection that it uses again it closes the caller's, too. */
const LOST_BY_BALANCER = ['502 of the balancer', 'socket hang up', 'read ECONNRESET'];
const LINE = 'take a second';
const LINE_MS = 1_000;
/** Enough to have some on each of three masters. */
const WORKSPACES = 8;

interface Change {
  method?: string;
  body?: object;
}

/** The life of the compose file, in this order: each step begins where the one before it ended. */
export async function tryEverything(stack: Stack, tell: Tell): Promise<void> {
  const { PORT, GATEWAY_KEY = '' } = stack.settings;
  const callers = new Callers(`http://127.0.0.1:${PORT}`, GATEWAY_KEY);
  try {
    await firstUp(stack, callers, tell);
    secondUp(stack, tell);
    runExample(stack, callers, tell);
    await scale(stack, tell);
    tell('idle for half a minute, with 3 apis and 3 workers', await measureIdle(stack), true);
    await tellOfNoWorkers(stack, tell);
    answerSlowly(stack);
    await killWorkers(stack, callers, tell);
    await killApi(stack, callers, tell);
    await sendLargeBodies(stack, callers, tell);
    await upgrade(stack, callers, tell);
    answerSlowly(stack);
    const batch = await killApisInBatch(stack, callers, tell);
    await downAndUp(stack, callers, tell);
    answerSlowly(stack);
    await rehearseRestore(stack, batch, tell);
    await useBucket(stack, callers, tell);
    await useCluster(stack, tell);
  } finally {
    callers.close();
  }
}

async function firstUp(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  if (stack.leftOut.length > 0)
    process.stdout.write(`left out, because the image is not to be had: ${stack.leftOut.join(', ')}\n`);
  process.stdout.write('building the image and starting the containers\n');
  const since = performance.now();
  stack.compose('up', '--build', '--detach');
  await firstAnswer(callers);
  tell('`up --build`, and a first request', `200 after ${secondsSince(since)}`, true);
  await warmUp(stack, callers, tell);
  const status = stack.compose('exec', '-T', 'admin', 'sluice', 'status').split('\n')[0] ?? '';
  tell('`docker compose exec admin sluice status`', `\`${status.trim()}\``, status !== '');
  const { TLS_PORT, GATEWAY_KEY = '' } = stack.settings;
  const byTls = new Callers(`https://127.0.0.1:${TLS_PORT}`, GATEWAY_KEY, stack.authority);
  const outcome = await byTls.send(chat('Say hello.'));
  byTls.close();
  callers.answered += byTls.answered;
  tell('the same with `deploy/compose/tls.yml`, a certificate that signs itself', outcome, outcome === '200');
}

/** With the image and every layer of it there, as after the first time. */
async function warmUp(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  await stack.composeBeside('down', '--volumes', '--timeout', '30');
  callers.answered = 0;
  const since = performance.now();
  stack.compose('up', '--build', '--detach');
  await firstAnswer(callers);
  const seconds = (performance.now() - since) / 1_000;
  tell(
    'the same from nothing but a warm cache',
    `200 after ${seconds.toFixed(0)} s`,
    seconds <= FIRST_ANSWER_WITHIN_S,
  );
}

/** It sends a request twice, and one of them is run. */
function runExample(stack: Stack, callers: Callers, tell: Tell): void {
  const said = stack.compose('run', '--rm', '-T', 'app');
  callers.answered += 1;
  tell('`examples/compose.yml`', said, said.includes('Replayed: true. The same answer: true.'));
}

function secondUp(stack: Stack, tell: Tell): void {
  const services = ['api', 'worker', 'admin', 'balancer', 'redis'];
  const before = services.flatMap((service) => stack.ids(service));
  stack.compose('up', '--detach');
  const isSame = before.join() === services.flatMap((service) => stack.ids(service)).join();
  tell('a second `up`', isSame ? 'the same containers' : 'other containers', isSame);
}

async function scale(stack: Stack, tell: Tell): Promise<void> {
  const before = stack.ids('worker');
  stack.set('WORKERS', '3');
  stack.compose('up', '--detach');
  const now = stack.ids('worker');
  const areKept = before.every((id) => now.includes(id));
  const seen = `${now.length} workers, ${areKept ? 'two of them as before' : 'all of them new'}`;
  tell('`WORKERS=3`', seen, now.length === 3 && areKept);
  if (stack.leftOut.includes('prometheus')) return;
  await until('three workers are scraped', async () => (await workersScraped(stack)) === 3);
  tell('Prometheus', 'scrapes 3 workers', true);
}

/** The rule of Prometheus waits for a minute. */
async function tellOfNoWorkers(stack: Stack, tell: Tell): Promise<void> {
  if (['prometheus', 'alertmanager'].some((service) => stack.leftOut.includes(service))) return;
  const receiver = new AlertReceiver();
  await receiver.listen(Number(stack.settings.ALERTS_PORT));
  try {
    await stack.composeBeside('stop', 'worker');
    await receiver.hears('NoWorkers firing');
    await stack.composeBeside('start', 'worker');
    await receiver.hears('NoWorkers resolved');
  } finally {
    receiver.close();
  }
  tell('all workers stopped, and started again', 'Alertmanager tells of both', true);
}

async function killWorkers(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  const account = await callers.sendEverySecond(CALLS_A_SECOND, chat(BRIEFLY), () =>
    killInTurn(stack, 'worker', TAKEN_OVER_MS),
  );
  tell(
    `kill -9 of three workers in turn, ${CALLS_A_SECOND} calls a second of ${BRIEFLY_MS / 1_000} s`,
    toWords(account),
    hasNoneFailed(account),
  );
}

/** The callers of a process that is killed hear it from the balancer. What it had accepted is run and booked all the same. */
async function killApi(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  const [id = ''] = stack.ids('api');
  const account = await callers.sendEverySecond(CALLS_A_SECOND, chat(BRIEFLY), async () => {
    await new Promise((resolve) => setTimeout(resolve, 2 * BRIEFLY_MS));
    await stack.dockerBeside('kill', '--signal', 'KILL', id);
    await stack.dockerBeside('start', id);
    await until('it is healthy', () => stack.inspect(id, '{{.State.Health.Status}}') === 'healthy');
  });
  await until('nothing is under way', async () => {
    const { providers } = await ask<Status>(stack, '/status');
    return providers.every(({ active, waiting }) => active + waiting === 0);
  });
  const { total } = await ask<Spend>(stack, '/spend');
  const unheard = total.requests - callers.answered;
  callers.answered = total.requests;
  const { 200: _, ...failed } = account.outcomes;
  const failures = Object.values(failed).reduce((sum, times) => sum + times, 0);
  tell(
    `kill -9 of an api, ${CALLS_A_SECOND} calls a second of ${BRIEFLY_MS / 1_000} s`,
    `${toWords(account)}; ${unheard} of those that failed were run and booked`,
    Object.keys(failed).every((outcome) => LOST_BY_BALANCER.includes(outcome)) &&
      unheard >= 0 &&
      unheard <= failures,
  );
}

async function killInTurn(stack: Stack, service: string, pauseMs = 0): Promise<void> {
  for (const id of stack.ids(service)) {
    await stack.dockerBeside('kill', '--signal', 'KILL', id);
    await stack.dockerBeside('start', id);
    await until('it is healthy', () => stack.inspect(id, '{{.State.Health.Status}}') === 'healthy');
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function sendLargeBodies(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => callers.send(LARGE_BODY)));
  const hasDied = stack
    .ids('api')
    .some((id) => stack.inspect(id, '{{.RestartCount}} {{.State.OOMKilled}}') !== '0 false');
  tell(
    'ten bodies of 9 MB at once, on apis of 512 MB',
    `${count(outcomes)}; ${hasDied ? 'an api died' : 'no api died'}`,
    !hasDied && outcomes.every((outcome) => ['200', '429', '503'].includes(outcome)),
  );
}

async function upgrade(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  const replaced = ['api', 'worker'];
  const old = replaced.flatMap((service) => stack.ids(service));
  const since = performance.now();
  const account = await callers.sendDuring(CALLERS, chat('Say hello.'), () => stack.upgrade());
  const isReplaced = replaced.flatMap((service) => stack.ids(service)).every((id) => !old.includes(id));
  tell(
    '`deploy/upgrade.sh` under load, 2 apis and 3 workers',
    `${toWords(account)}; ${isReplaced ? 'all replaced' : 'not all replaced'} in ${secondsSince(since)}`,
    hasNoneFailed(account) && isReplaced,
  );
}

async function killApisInBatch(stack: Stack, callers: Callers, tell: Tell): Promise<BatchOutcome> {
  const { PORT, GATEWAY_KEY = '' } = stack.settings;
  const batch = await runBatchDuring(`http://127.0.0.1:${PORT}`, GATEWAY_KEY, LINE, () =>
    killInTurn(stack, 'api'),
  );
  callers.answered += batch.answered;
  tell(
    `kill -9 of two apis in turn, in a batch of ${batch.lines} lines`,
    `${batch.answered} lines answered, each once`,
    batch.answered === batch.lines,
  );
  return batch;
}

async function downAndUp(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  const inFlight = Array.from({ length: IN_FLIGHT }, () => callers.send(chat(SLOW)));
  await until('calls are running', async () => {
    const { providers } = await ask<Status>(stack, '/status');
    return providers.some(({ active }) => active > 0);
  });
  const since = performance.now();
  await stack.composeBeside('down');
  const outcomes = count(await Promise.all(inFlight));
  tell(
    `\`down\` with ${IN_FLIGHT} requests in flight`,
    `${outcomes} in ${secondsSince(since)}`,
    outcomes === `${IN_FLIGHT} × 200`,
  );

  stack.compose('up', '--detach');
  await firstAnswer(callers);
  const { total } = await ask<Spend>(stack, '/spend');
  tell(
    '`up` again',
    `${total.requests} requests in the ledger, ${callers.answered} were answered`,
    total.requests === callers.answered,
  );
  const rows = await until(
    'PostgreSQL has as many',
    () => rowsInPostgres(stack) >= total.requests && rowsInPostgres(stack),
  );
  tell('PostgreSQL', `${rows} requests that were answered`, rows === total.requests);
}

/** Destroys everything that was stored, and compares what a backup brings back. */
async function rehearseRestore(stack: Stack, batch: BatchOutcome, tell: Tell): Promise<void> {
  const { PORT, GATEWAY_KEY } = stack.settings;
  const call = (
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ) =>
    fetch(`http://127.0.0.1:${PORT}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${GATEWAY_KEY}`,
        'content-type': 'application/json',
        ...init.headers,
      },
    });
  const before = await ask<Spend>(stack, '/spend');
  const rows = rowsInPostgres(stack);
  const headers = { prefer: 'respond-async' };
  const accepted = await call('/v1/chat/completions', { method: 'POST', headers, body: chat(SLOW) });
  const waiting = accepted.headers.get('location') ?? '';
  const folder = await stack.backUp();
  const since = performance.now();
  await stack.restore(folder);
  const seconds = secondsSince(since);

  const isAnswered = await until(
    'the answer of the request that ran',
    async () => (await call(waiting).catch(() => undefined))?.status === 200,
  );
  const after = await ask<Spend>(stack, '/spend');
  const output = await (await call(`/v1/files/${batch.outputFile}/content`)).text();
  const rowsAfter = await until('its row', () => rowsInPostgres(stack) > rows && rowsInPostgres(stack));
  const isSame =
    after.total.requests === before.total.requests + 1 && rowsAfter === rows + 1 && output === batch.output;
  tell(
    '`deploy/backup.sh`, `down --volumes`, `deploy/restore.sh`',
    `${isSame ? 'the ledger, the log and the files are' : 'not everything is'} as before, and the request that ran is answered; ${seconds}`,
    isSame && isAnswered,
  );
}

async function useBucket(stack: Stack, callers: Callers, tell: Tell): Promise<void> {
  stack.useBucket();
  stack.compose('up', '--detach');
  await firstAnswer(callers);
  answerSlowly(stack);
  const { PORT, GATEWAY_KEY = '' } = stack.settings;
  const batch = await runBatchDuring(`http://127.0.0.1:${PORT}`, GATEWAY_KEY, LINE, async () => {});
  const objects = stack.objects();
  tell(
    `\`deploy/compose/bucket.yml\`, and a batch of ${batch.lines} lines`,
    `${batch.answered} lines answered, each once; ${objects} objects in the bucket`,
    batch.answered === batch.lines && objects > 0,
  );
}

/** From nothing: a workspace in each of some shards, one of the masters killed, and a backup brought back. */
async function useCluster(stack: Stack, tell: Tell): Promise<void> {
  await stack.composeBeside('down', '--volumes', '--timeout', '30');
  stack.useCluster();
  stack.compose('up', '--detach');
  const { PORT, GATEWAY_KEY = '' } = stack.settings;
  const demo = new Callers(`http://127.0.0.1:${PORT}`, GATEWAY_KEY);
  await firstAnswer(demo);
  const all = [demo];
  for (let i = 0; i < WORKSPACES; i++) all.push(await addWorkspace(stack, `team-${i}`));
  const sendAll = () => Promise.all(all.map((callers) => callers.send(chat('Say hello.'))));
  const spread = await sendAll();
  tell(
    `\`deploy/compose/cluster.yml\`, ${all.length} workspaces`,
    count(spread),
    count(spread) === `${all.length} × 200`,
  );

  const [master = ''] = stack.ids('redis-2');
  await stack.dockerBeside('kill', '--signal', 'KILL', master);
  const meanwhile = await sendAll();
  await stack.dockerBeside('start', master);
  await until('all are served again', async () => count(await sendAll()) === `${all.length} × 200`);
  const answered = () => all.reduce((sum, callers) => sum + callers.answered, 0);
  const { total } = await ask<Spend>(stack, '/spend');
  tell(
    'kill -9 of one of three masters, and its start',
    `meanwhile ${count(meanwhile)}; then all are served; ${total.requests} requests in the ledger, ${answered()} were answered`,
    meanwhile.includes('200') &&
      // A found number of calls begins with fewer than there are shards, and those that are away keep theirs.
      meanwhile.every((outcome) => ['200', '429', '503'].includes(outcome)) &&
      total.requests === answered(),
  );

  await stack.restore(await stack.backUp());
  await until('all are served again', async () => count(await sendAll()) === `${all.length} × 200`);
  const after = await ask<Spend>(stack, '/spend');
  tell(
    'backup and restore of the Cluster',
    `${after.total.requests} requests in the ledger, ${answered()} were answered`,
    after.total.requests === answered(),
  );
  for (const callers of all) callers.close();
}

/** With the route of the first workspace, and a key. */
async function addWorkspace(stack: Stack, id: string): Promise<Callers> {
  await ask(stack, '/workspaces', { method: 'POST', body: { id } });
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  await ask(stack, `/workspaces/${id}/routes/fast`, { method: 'PUT', body: { chain } });
  const { value } = await ask<{ value: string }>(stack, `/workspaces/${id}/keys`, {
    method: 'POST',
    body: { name: 'default' },
  });
  return new Callers(`http://127.0.0.1:${stack.settings.PORT}`, value);
}

function firstAnswer(callers: Callers): Promise<unknown> {
  return until('an answer', async () => (await callers.send(chat('Say hello.'))) === '200');
}

function rowsInPostgres(stack: Stack): number {
  const query = 'SELECT count(*) FROM sluice.requests WHERE status = 200';
  const psql = ['psql', '--username=sluice_owner', '--dbname=sluice', '-tAc', query];
  return Number(stack.compose('exec', '-T', 'postgres', ...psql));
}

/** The simulator answers these texts slowly. */
function answerSlowly(stack: Stack): void {
  const rules = [
    { match: { textIncludes: SLOW }, action: { delayMs: SLOW_MS } },
    { match: { textIncludes: BRIEFLY }, action: { delayMs: BRIEFLY_MS } },
    { match: { textIncludes: LINE }, action: { delayMs: LINE_MS } },
  ];
  const post = `fetch('http://simulator:8090/_control/script', { method: 'POST', body: process.argv[1] })`;
  const run = ['exec', '-T', 'admin', 'node', '-e', `${post}.then((r) => process.exit(r.ok ? 0 : 1))`];
  for (const rule of rules) stack.compose(...run, JSON.stringify(rule));
}

async function ask<T>(stack: Stack, path: string, { method = 'GET', body }: Change = {}): Promise<T> {
  const { ADMIN_PORT, ADMIN_TOKEN } = stack.settings;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${ADMIN_PORT}${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function workersScraped(stack: Stack): Promise<number> {
  const prometheus = `http://127.0.0.1:${stack.settings.PROMETHEUS_PORT}`;
  const response = await fetch(`${prometheus}/api/v1/query?query=sum(up{job="worker"})`);
  const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

function hasNoneFailed({ outcomes }: Account): boolean {
  return Object.keys(outcomes).join() === '200';
}

function toWords({ outcomes, slowestMs, refusal }: Account): string {
  const { 200: answered = 0, ...failures } = outcomes;
  const failed = Object.entries(failures).map(([outcome, n]) => `${n} × ${outcome}`);
  return `${answered} answered, ${failed.length === 0 ? 'none failed' : `${failed.join(', ')} (${refusal})`}, slowest ${(slowestMs / 1000).toFixed(1)} s`;
}

function count(outcomes: readonly string[]): string {
  return [...new Set(outcomes)]
    .sort()
    .map((outcome) => `${outcomes.filter((seen) => seen === outcome).length} × ${outcome}`)
    .join(', ');
}

const secondsSince = (start: number) => `${((performance.now() - start) / 1000).toFixed(0)} s`;
