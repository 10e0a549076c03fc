/** Prompts and answers lie in Redis encrypted: nothing of them is in its memory, its append-only file or its dump. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Payloads } from '@sluice/shared/queue/payload';
import type { ExecutionContext } from 'ava';
import { toFile } from 'openai';
import { batchEnd, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { sdkFor } from '../helpers/sdk.js';
import { makeSecretKey } from '../helpers/secret-key.js';
import { until } from '../helpers/until.js';

const PROMPT = 'canary-prompt-the-patient-is-called-Ada';
const ANSWER = 'canary-answer-she-has-a-cold';
const CLEAR = 'prompts and answers are stored in Redis unencrypted';

async function start(t: ExecutionContext, env: Record<string, string>) {
  const hold = new Hold();
  hold.release();
  const gateway = await startGateway({
    ownRedis: true,
    apis: 2,
    env,
    // A worker that starts on a busy machine takes its time.
    providers: { openai: { max_wait_ms: 120_000 } },
    simulator: { latencyMs: hold.latency },
  });
  t.teardown(() => {
    hold.release();
    return gateway.stop();
  });
  return { gateway, hold };
}

function ask(gateway: Gateway, text: string, init: { key?: string; api?: number } = {}) {
  return gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: `${PROMPT} ${text}` }] },
    {
      url: gateway.urls[init.api ?? 0] ?? '',
      headers: init.key === undefined ? {} : { 'idempotency-key': init.key },
    },
  );
}

/** One of each way a request may take. */
async function makeTraffic(t: ExecutionContext, gateway: Gateway, hold: Hold): Promise<void> {
  const quoting = { error: { message: `You said: ${PROMPT}`, param: PROMPT } };
  gateway.simulator.script(
    { match: { textIncludes: 'is refused' }, action: { status: 400, body: quoting } },
    { match: { textIncludes: 'falls back', provider: 'openai' }, action: { status: 500 } },
    { action: { text: ANSWER } },
  );
  const served = async (answer: ReturnType<typeof ask>) => {
    const { status, body } = await answer;
    t.is(status, 200);
    t.is(body.choices[0].message.content, ANSWER);
  };
  await served(ask(gateway, 'is small'));
  await served(ask(gateway, `is large ${'and long '.repeat(5_000)}`));
  await served(ask(gateway, 'falls back'));
  await served(ask(gateway, `falls back ${'and is large '.repeat(5_000)}`));

  hold.hold();
  const both = [
    ask(gateway, 'is sent twice', { key: 'k' }),
    ask(gateway, 'is sent twice', { key: 'k', api: 1 }),
  ];
  const record = `${gateway.names.idempotency('demo', '')}*`;
  await until('one waits for the other', async () => {
    const [key = ''] = await gateway.redis.keys(record);
    const fields = await gateway.redis.hkeys(key);
    return hold.held.length === 1 && fields.some((field) => field.startsWith('waiter:'));
  });
  hold.release();
  for (const answer of both) await served(answer);
  await served(ask(gateway, 'is sent twice', { key: 'k' }));
  t.is((await ask(gateway, 'is another one', { key: 'k' })).status, 422);

  const refused = await ask(gateway, 'is refused');
  t.is(refused.status, 400);
  t.deepEqual([refused.body.error.message, refused.body.error.param], [`You said: ${PROMPT}`, PROMPT]);
  t.is((await ask(gateway, 'is refused', { key: 'refused' })).body.error.param, PROMPT);

  const client = sdkFor(gateway);
  const named = await toFile(Buffer.from(toJsonl([line('first', PROMPT)])), `${PROMPT}.jsonl`);
  const file = await client.files.create({ file: named, purpose: 'batch' });
  t.is((await client.files.retrieve(file.id)).filename, `${PROMPT}.jsonl`);
  t.true((await client.files.list()).data.some(({ filename }) => filename === `${PROMPT}.jsonl`));
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { patient: PROMPT },
  });
  t.deepEqual((await batchEnd(client, id)).metadata, { patient: PROMPT });
}

/** The canaries in what Redis holds now, in its append-only file with all that was ever written, and in its dump. */
async function canariesIn({ redis }: Gateway): Promise<string[]> {
  await redis.config('SET', 'rdbcompression', 'no');
  await redis.save();
  const [, folder = ''] = (await redis.config('GET', 'dir')) as string[];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const names = files.map(({ parentPath, name }) => join(parentPath, name));
  if (!names.some((name) => name.endsWith('.aof')) || !names.some((name) => name.endsWith('.rdb')))
    throw new Error(`neither file is there: ${names}`);
  const contents = [await readEverything(redis), ...names.map((name) => readFileSync(name, 'latin1'))];
  const all = contents.join('\n');
  return [PROMPT, ANSWER, 'You said', Buffer.from(PROMPT).toString('base64').slice(4, 40)].filter((canary) =>
    all.includes(canary),
  );
}

/** What the status says of each of three processes: the id of the key that it encrypts with, or null. */
async function keysInStatus({ adminUrl, adminToken }: Gateway): Promise<(string | null)[]> {
  const headers = { authorization: `Bearer ${adminToken}` };
  // A process that the machine has stopped for seconds is not listed meanwhile.
  return until('three processes', async () => {
    const { processes } = (await (await fetch(`${adminUrl}/status`, { headers })).json()) as {
      processes: { payload_key: string | null }[];
    };
    return processes.length >= 3 && processes.map(({ payload_key }) => payload_key);
  });
}

test('nothing of a prompt or an answer is ever in Redis or in its files', async (t) => {
  const { gateway, hold } = await start(t, {});
  await makeTraffic(t, gateway, hold);
  t.deepEqual(await canariesIn(gateway), []);
  t.false(gateway.output().includes(CLEAR));
  for (const canary of [PROMPT, ANSWER]) t.false(gateway.output().includes(canary));
  const keys = await keysInStatus(gateway);
  t.is(keys.length, 3);
  t.regex(keys[0] ?? '', /^[0-9a-f]{8}$/);
  t.is(new Set(keys).size, 1);
});

test('without a key they are there, and each process says so once', async (t) => {
  const { gateway, hold } = await start(t, { PAYLOAD_KEY: '' });
  await makeTraffic(t, gateway, hold);
  t.deepEqual(await canariesIn(gateway), [PROMPT, ANSWER, 'You said']);
  t.is(gateway.output().split(CLEAR).length - 1, gateway.apis.length + gateway.workers.length);
  t.deepEqual(await keysInStatus(gateway), [null, null, null]);
});

test('while keys are rotated, processes with the old and the new one work together', async (t) => {
  const [old, next] = [makeSecretKey(), makeSecretKey()];
  // Every process has been given the new key, none encrypts with it yet.
  const { gateway } = await start(t, { PAYLOAD_KEY: `${old},${next}` });
  t.is((await ask(gateway, 'is kept', { key: 'kept' })).status, 200);
  const promoted = { PAYLOAD_KEY: `${next},${old}` };
  await gateway.addApi(promoted);
  t.is((await ask(gateway, 'of the new api to the old worker', { api: 2 })).status, 200);
  const [oldWorker] = gateway.workers;
  await gateway.addWorker(promoted);
  await oldWorker?.end();
  t.is((await ask(gateway, 'of the old api to the new worker')).status, 200);
  const replay = await ask(gateway, 'is kept', { key: 'kept', api: 2 });
  t.is(replay.status, 200);
  t.is(replay.headers.get('idempotent-replayed'), 'true');
  t.deepEqual(await canariesIn(gateway), []);
});

test('encryption is switched on without a failed request', async (t) => {
  const key = makeSecretKey();
  const { gateway } = await start(t, { PAYLOAD_KEY: '' });
  const replace = async (value: string) => {
    const [apis, workers] = [[...gateway.apis], [...gateway.workers]];
    await gateway.addWorker({ PAYLOAD_KEY: value });
    t.is((await ask(gateway, 'is asked meanwhile', { api: gateway.apis.length - 1 })).status, 200);
    await gateway.addApi({ PAYLOAD_KEY: value });
    t.is((await ask(gateway, 'is asked meanwhile', { api: gateway.apis.length - 1 })).status, 200);
    for (const process of [...workers, ...apis]) await process.end();
    t.is((await ask(gateway, 'is asked then', { api: gateway.apis.length - 1 })).status, 200);
  };
  await replace(`none,${key}`);
  await replace(key);
});

test('a process whose key does not fit the others does not start, and says which key is missing', async (t) => {
  const { gateway } = await start(t, {});
  const other = makeSecretKey();
  for (const join of [gateway.addWorker, gateway.addApi]) {
    // It starts when the others have stopped for seconds, because they count as gone then.
    const error: Error = await until('one that does not start', () =>
      join({ PAYLOAD_KEY: other }, { ownProcess: true }).then(
        (started) => started.end().then(() => undefined),
        (error) => error,
      ),
    );
    t.regex(
      error.message,
      /PAYLOAD_KEY does not fit: .* writes with key [0-9a-f]{8}, which .* does not hold/,
    );
    t.false(error.message.includes(other));
  }
  t.is((await ask(gateway, 'is served by the others')).status, 200);
});

/** Puts texts that were sealed under another key into the place of all sealed ones. Returns how many they were. */
async function replaceSealed({ redis }: Gateway): Promise<number> {
  let replaced = 0;
  const foreign = new Payloads({ keys: [randomBytes(32)], writes: true }).seal('foreign', '');
  for (const key of await redis.keys('*')) {
    if ((await redis.type(key)) !== 'hash') continue;
    for (const [field, value] of Object.entries(await redis.hgetall(key))) {
      if (!value.startsWith('\u0001')) continue;
      await redis.hset(key, field, foreign);
      replaced++;
    }
  }
  return replaced;
}

const NOT_HELD = /encrypted with payload key [0-9a-f]{8}, which is not held here/;

test('a request that a worker cannot read fails at once, and the log names the key', async (t) => {
  const { gateway } = await start(t, {});
  const [worker] = gateway.workers;
  await worker?.end();
  const answer = ask(gateway, 'cannot be read');
  await until('it waits', async () => (await replaceSealed(gateway)) === 1);
  await gateway.addWorker();
  const { status, body } = await answer;
  t.is(status, 500);
  t.is(body.error.code, 'internal_error');
  t.is(gateway.simulator.calls.filter(({ path }) => !path.includes('/models')).length, 0);
  await until('the worker says why', () => NOT_HELD.test(gateway.output()));
  t.is((await gateway.log()).at(-1)?.code, 'internal_error');
});

test('an answer that the api cannot read is an error to the caller, and the log names the key', async (t) => {
  const { gateway } = await start(t, {});
  t.is((await ask(gateway, 'is kept', { key: 'kept' })).status, 200);
  t.is(await replaceSealed(gateway), 1);
  const { status, body } = await ask(gateway, 'is kept', { key: 'kept' });
  t.is(status, 500);
  t.is(body.error.code, 'internal_error');
  await until('the api says why', () => NOT_HELD.test(gateway.output()));
});
