import { createLogger } from '@sluice/shared/process/logger';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Run } from '@sluice/worker/calls/run';
import type { Progress } from '@sluice/worker/jobs/progress';
import { ProviderCalls, type ProviderCallsParts } from '@sluice/worker/jobs/provider-calls';
import { openai } from '@sluice/worker/providers/openai/index';
import test from 'ava';

test('an answer that makes our own code fail is an attempt, and the next entry may be tried', async (t) => {
  const parseResponse = () => {
    throw new TypeError('a fault of ours');
  };
  const upstream = {
    config: { name: 'openai', kind: 'openai', timeoutMs: 1_000, cooldownMs: 0, maxCooldownMs: 0 },
    provider: { ...openai, parseResponse },
    headers: {},
    http: { post: async () => ({ status: 200, headers: {}, body: {} }) },
    answerFits: () => true,
    pool: new Map(),
  };
  const saidNothing: string[] = [];
  const parts = {
    upstreams: { of: () => upstream },
    health: {
      calling: () => {},
      saidNothing: (provider: string) => saidNothing.push(provider),
      record: () => t.fail('it says nothing about the provider'),
    },
    estimate: { ofCall: () => 7 },
    clock: { now: () => 0 },
    logger: createLogger('test', 'silent'),
    metrics: { called: () => {} },
  } as unknown as ProviderCallsParts;
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const job = { requestId: 'one', chain: [entry], entry: 0, deadline: 10_000, attempts: [], route: null };
  const progress: Progress = { job: job as unknown as ChatJob };
  const run = { signal: {}, answer: {} } as unknown as Run;

  const { failure } = await new ProviderCalls(parts).call(progress, { messages: [] } as never, entry, run);
  t.like(failure, { outcome: 'internal_error', code: 'internal_error', fallback: true });
  t.is(progress.job.attempts.length, 1);
  t.like(progress.job.attempts[0], { outcome: 'internal_error', estimate: 7 });
  t.deepEqual(saidNothing, ['openai']);
});
