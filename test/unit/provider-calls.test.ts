import { createLogger } from '@sluice/shared/process/logger';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Run } from '@sluice/worker/calls/run';
import { discreetWords } from '@sluice/worker/jobs/discreet-words';
import type { Progress } from '@sluice/worker/jobs/progress';
import { ProviderCalls, type ProviderCallsParts } from '@sluice/worker/jobs/provider-calls';
import { openai } from '@sluice/worker/providers/openai/index';
import test from 'ava';

const SENDS = {
  endpoint: { chatPath: () => '/chat/completions', adapt: (body: unknown) => body },
  credentials: { headersFor: () => ({}) },
};

const APIS = { of: (upstream: unknown) => upstream, afterRefusal: () => undefined };

test('an answer that makes our own code fail is an attempt, and the next entry may be tried', async (t) => {
  const parseResponse = () => {
    throw new TypeError('a fault of ours');
  };
  const upstream = {
    config: { name: 'openai', kind: 'openai', timeoutMs: 1_000, cooldownMs: 0, maxCooldownMs: 0 },
    provider: { ...openai, parseResponse },
    ...SENDS,
    http: { post: async () => ({ status: 200, headers: {}, body: {} }) },
    answerFits: () => true,
    pool: new Map(),
  };
  const saidNothing: string[] = [];
  const parts = {
    upstreams: { of: () => upstream },
    apis: APIS,
    health: {
      calling: () => {},
      saidNothing: (provider: string) => saidNothing.push(provider),
      record: () => t.fail('it says nothing about the provider'),
    },
    estimate: { ofCall: () => 7 },
    clock: { now: () => 0 },
    logger: createLogger('test', 'silent'),
    metrics: { called: () => {} },
    rates: { hear: () => undefined, refused: async () => undefined },
  } as unknown as ProviderCallsParts;
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const job = { requestId: 'one', chain: [entry], entry: 0, deadline: 10_000, attempts: [], route: null };
  const progress: Progress = { job: job as unknown as ChatJob, token: 'run' };
  const run = { signal: {}, answer: {} } as unknown as Run;

  const { failure } = await new ProviderCalls(parts).call(
    progress,
    { request: { messages: [] } as never },
    entry,
    run,
  );
  t.like(failure, { outcome: 'internal_error', code: 'internal_error', fallback: true });
  t.is(progress.job.attempts.length, 1);
  t.like(progress.job.attempts[0], { outcome: 'internal_error', estimate: 7 });
  t.deepEqual(saidNothing, ['openai']);
});
test('the words that are kept of a provider’s error repeat nothing of the prompt, however it is written', (t) => {
  const prompts = {
    russian: 'Пациент Иван Петров болен раком лёгких с прошлого года',
    chinese: '患者张伟确诊为晚期肺癌正在接受化疗',
    french: 'Élise a été renvoyée, hélas, et personne ne le sait',
    english: 'tell nobody about the merger with Acme',
  };
  const toEscapes = (text: string) =>
    text.replace(/[^ -~]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const ways: Record<string, (text: string) => string> = {
    plain: (text) => text,
    upper: (text) => text.toUpperCase(),
    escaped: toEscapes,
    url: encodeURIComponent,
    decomposed: (text) => text.normalize('NFD'),
    spaced: (text) => text.replaceAll(' ', ' - '),
    base64: (text) => Buffer.from(text).toString('base64'),
  };
  const keep = (said: string, content: string, more = {}) =>
    discreetWords(said, { messages: [{ role: 'user', content }], ...more } as never, 1_000);
  for (const [language, prompt] of Object.entries(prompts))
    for (const [name, write] of Object.entries(ways))
      t.is(keep(`Bad content: ${write(prompt)}`, prompt), undefined, `${language} ${name}`);
  const schema = { properties: { fired_employees_of_acme: { type: 'string' } } };
  const tools = [{ type: 'function', function: { name: 'list', parameters: schema } }];
  t.is(
    keep("Invalid schema: 'fired_employees_of_acme' has no description.", 'Hello.', { tools }),
    'Invalid schema: “…” has no description.',
  );
  const plain = 'This model’s maximum context length is 4096 tokens.';
  t.is(keep(plain, 'Hello.'), plain);
});

test('a refusal of the provider is an attempt also when Redis cannot be asked for another key', async (t) => {
  const upstream = {
    config: { name: 'openai', kind: 'openai', timeoutMs: 1_000, cooldownMs: 0, maxCooldownMs: 0 },
    provider: openai,
    ...SENDS,
    http: { post: async () => ({ status: 429, headers: {}, body: { error: { message: 'Slow down.' } } }) },
    pool: new Map(),
  };
  const parts = {
    upstreams: { of: () => upstream },
    apis: APIS,
    health: { calling: () => {}, record: () => {}, saidNothing: () => {} },
    queue: { switchKey: () => Promise.reject(new Error('Connection is closed.')) },
    clock: { now: () => 0 },
    logger: createLogger('test', 'silent'),
    metrics: { called: () => {} },
    rates: { hear: () => undefined, refused: async () => undefined },
  } as unknown as ProviderCallsParts;
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const job = { requestId: 'one', chain: [entry], deadline: 10_000, attempts: [], request: '' };
  const progress: Progress = {
    job: job as unknown as ChatJob,
    token: 'run',
    rate: { key: 'a', reservedAt: 0, use: {} },
  };
  const run = { signal: {}, answer: {} } as unknown as Run;
  const calls = new ProviderCalls(parts);
  const { failure, nextKey } = await calls.call(progress, { request: { messages: [] } as never }, entry, run);
  t.is(failure?.outcome, 'rate_limited');
  t.is(nextKey, undefined);
  t.like(progress.job.attempts[0], { outcome: 'rate_limited', said: 'Slow down.' });
});

test('a provider whose last key is rate limited is not left alone for longer than its setting says', async (t) => {
  const upstream = {
    config: { name: 'openai', kind: 'openai', timeoutMs: 1_000, cooldownMs: 0, maxCooldownMs: 300_000 },
    provider: openai,
    ...SENDS,
    http: { post: async () => ({ status: 429, headers: { 'retry-after': '86400' }, body: {} }) },
    pool: new Map(),
  };
  const closed: number[] = [];
  const parts = {
    upstreams: { of: () => upstream },
    apis: APIS,
    health: { calling: () => {}, record: () => {}, saidNothing: () => {} },
    queue: {
      async switchKey(_job: unknown, _lock: string, _key: string, closedMs: number) {
        closed.push(closedMs);
        return ['', -1];
      },
    },
    clock: { now: () => 0 },
    logger: createLogger('test', 'silent'),
    metrics: { called: () => {} },
    rates: { hear: () => undefined, refused: async () => undefined },
  } as unknown as ProviderCallsParts;
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const job = { requestId: 'one', chain: [entry], deadline: 10_000, attempts: [], request: '' };
  const progress: Progress = {
    job: job as unknown as ChatJob,
    token: 'run',
    rate: { key: 'a', reservedAt: 0, use: {} },
  };
  const run = { signal: {}, answer: {} } as unknown as Run;
  const { failure } = await new ProviderCalls(parts).call(
    progress,
    { request: { messages: [] } as never },
    entry,
    run,
  );
  t.deepEqual(closed, [300_000]);
  t.is(failure?.retryAfterMs, 300_000, 'the caller is told the same');
});

test('a tier that lacks capacity closes no key of the pool', async (t) => {
  const message = 'Flex processing has no capacity for this request.';
  const upstream = {
    config: { name: 'openai', kind: 'openai', timeoutMs: 1_000, cooldownMs: 5_000, maxCooldownMs: 300_000 },
    provider: openai,
    ...SENDS,
    http: { post: async () => ({ status: 429, headers: {}, body: { error: { message } } }) },
    pool: new Map(),
  };
  const cooled: unknown[] = [];
  const parts = {
    upstreams: { of: () => upstream },
    apis: APIS,
    health: {
      calling: () => {},
      record: () => {},
      saidNothing: () => {},
      coolDown: (subject: unknown) => cooled.push(subject),
    },
    queue: { switchKey: () => t.fail('other requests need the key') },
    clock: { now: () => 0 },
    logger: createLogger('test', 'silent'),
    metrics: { called: () => {} },
    rates: { hear: () => undefined, refused: () => t.fail('it is no limit of the others') },
  } as unknown as ProviderCallsParts;
  const entry = { provider: 'openai', model: 'o4-mini' };
  const job = { requestId: 'one', chain: [entry], deadline: 10_000, attempts: [], request: '' };
  const progress: Progress = {
    job: job as unknown as ChatJob,
    token: 'run',
    rate: { key: 'a', reservedAt: 0, use: {} },
  };
  const request = { messages: [], service_tier: 'flex' } as never;
  const run = { signal: {}, answer: {} } as unknown as Run;
  const { failure, nextKey } = await new ProviderCalls(parts).call(progress, { request }, entry, run);
  t.is(failure?.outcome, 'rate_limited');
  t.is(nextKey, undefined);
  t.deepEqual(cooled, [{ provider: 'openai', model: 'o4-mini', tier: 'flex' }]);
});
