import type { BackgroundRequest } from '@sluice/api/chat/background-requests';
import { Congestion } from '@sluice/api/chat/congestion';
import { Expectations } from '@sluice/api/chat/expectations';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { ChatJob } from '@sluice/shared/queue/job';
import test from 'ava';

const limits = { concurrency: 2, maxWaitMs: 3_000, maxBacklog: 10 };

test('a caller who comes back is let wait while the line takes no longer than twice the wait that is allowed', (t) => {
  const congestion = new Congestion(new Map([['openai', limits as ProviderConfig]]));
  t.false(congestion.isFarBehind('openai'));
  // Two at a time, and a second each until a call has been measured.
  congestion.recordWaiting('openai', 12);
  t.false(congestion.isFarBehind('openai'));
  congestion.recordWaiting('openai', 13);
  t.true(congestion.isFarBehind('openai'));
  congestion.recordLatency('openai', 100);
  t.false(congestion.isFarBehind('openai'));
  t.is(congestion.mostWaiting('openai', false), 10);
  t.is(congestion.mostWaiting('openai', true), 20);
});

test('those before a request are answered as many at a time as the provider takes now', (t) => {
  const congestion = new Congestion(new Map([['openai', limits as ProviderConfig]]));
  t.is(congestion.turnsMs('openai', 101, 1_000, 50), 3_000);
  t.is(congestion.turnsMs('openai', 101, 1_000, 0), 51_000, 'nobody has said');
});

test('a request that a provider’s own batch has is expected after the time that such batches take', async (t) => {
  const congestion = new Congestion(new Map([['openai', limits as ProviderConfig]]));
  const hour = 3_600_000;
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  const job = { chain, entry: 0, attempts: [], acceptedAt: hour, deadline: 40 * hour } as unknown as ChatJob;
  const queue = {
    read: async () => ({ job, starts: 0, at: 'a part' }),
    placeOf: async (): Promise<[number, number]> => [0, 2],
  };
  const expectedAt = async (batchMs: number | undefined, now: number) => {
    const lately = {
      refresh: async () => {},
      callMs: (_: object, tier: string | undefined) => (tier === 'batch' ? batchMs : 500),
    };
    const expectations = new Expectations(queue, congestion, lately, { now: () => now });
    return expectations.of({ jobKeys: ['its job'] } as unknown as BackgroundRequest);
  };
  t.like(await expectedAt(5 * hour, 2 * hour), { place: null, at: 6 * hour });
  t.like(await expectedAt(50 * hour, 2 * hour), { place: null, at: 40 * hour });
  t.like(await expectedAt(5 * hour, 7 * hour), { place: null, at: null }, 'it takes longer than usual');
  t.like(await expectedAt(undefined, 2 * hour), { place: null, at: null }, 'nobody knows');
});
