import { Congestion } from '@sluice/api/chat/congestion';
import type { ProviderConfig } from '@sluice/shared/config/provider';
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
