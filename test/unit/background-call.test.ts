/** Calls in the background whose answer is gone, refused, or belongs to another run of the job. */
import { callProvider, type Upstream } from '@sluice/worker/calls/call-provider';
import { StopSignal } from '@sluice/worker/calls/stop-signal';
import { responses } from '@sluice/worker/providers/index';
import test from 'ava';

interface Asked {
  method: string;
  path: string;
}

/** Asks for the response that an earlier run has begun. */
async function resume(status: number, body: object, keep: () => Promise<boolean>) {
  const asked: Asked[] = [];
  const signal = new StopSignal();
  const upstream = {
    config: { baseUrl: 'http://upstream', name: 'openai', kind: 'openai' },
    provider: responses,
    endpoint: { chatPath: () => '/responses', adapt: (given: unknown) => given },
    credentials: { headersFor: () => ({}), secrets: () => [] },
    http: {
      post: async (path: string, ...rest: unknown[]) => {
        const { method = 'POST' } = rest[5] as { method?: string };
        asked.push({ method, path });
        return { status, headers: {}, body };
      },
    },
    answerFits: async () => true,
    pool: new Map(),
  } as unknown as Upstream;
  const result = await callProvider(
    upstream,
    { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] },
    { provider: 'openai', model: 'gpt-4o' },
    60_000,
    { workspace: 'demo', signal, answer: {} as never },
    { now: () => Date.now() },
    undefined,
    { id: 'resp_1', keep },
  );
  return { result, signal, asked };
}

const NOT_FOUND = { error: { message: 'Response not found', type: 'invalid_request_error' } };

test('a run that has lost its job does not take a deleted answer for a lost call', async (t) => {
  const { result, signal, asked } = await resume(404, NOT_FOUND, async () => false);
  t.is(result.failure?.outcome, 'cancelled');
  t.is(signal.reason, 'lock_lost');
  t.deepEqual(asked, [{ method: 'GET', path: '/responses/resp_1' }]);
});

test('an answer that is gone is one whose bill nobody knows', async (t) => {
  const { result } = await resume(404, NOT_FOUND, async () => true);
  t.is(result.failure?.outcome, 'unknown');
  t.true(result.billUnknown);
});

test('while Redis is away, an answer that is gone is a lost call', async (t) => {
  const away = Object.assign(new Error('Connection is closed.'), { name: 'Error' });
  const { result } = await resume(404, NOT_FOUND, () => Promise.reject(away));
  t.is(result.failure?.outcome, 'unknown');
});

test('a question that is refused says nothing about the bill of the call', async (t) => {
  for (const status of [400, 401, 403]) {
    const { result } = await resume(status, NOT_FOUND, async () => true);
    t.truthy(result.failure, String(status));
    t.true(result.billUnknown, String(status));
  }
});
