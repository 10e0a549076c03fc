import { Neighbours } from '@sluice/api/cell/neighbours';
import type { Presence, ProcessInfo } from '@sluice/shared/process/presence';
import { commonProtocol, PROTOCOLS } from '@sluice/shared/process/protocol';
import test from 'ava';

test('jobs are written in the newest protocol that all known workers read', (t) => {
  const newer = { oldest: PROTOCOLS.newest, newest: PROTOCOLS.newest + 1 };
  t.is(commonProtocol([newer]), PROTOCOLS.newest);
  t.is(commonProtocol([newer, PROTOCOLS]), PROTOCOLS.newest);
  // A process that does not name its protocols is of the first version.
  t.is(commonProtocol([newer, undefined]), Math.max(PROTOCOLS.oldest, 1));
});

test('while no worker is known, jobs are written so that an older one can read them', (t) => {
  t.is(commonProtocol([]), PROTOCOLS.oldest);
});

test('when all workers are gone for a moment, jobs are written as for them', async (t) => {
  const worker = { role: 'worker', protocols: PROTOCOLS } as ProcessInfo;
  let alive = [worker];
  const presence = { announceAndList: () => Promise.resolve(alive) } as unknown as Presence;
  const neighbours = new Neighbours(presence);
  await neighbours.look([]);
  t.is(neighbours.protocol, PROTOCOLS.newest);
  alive = [];
  await neighbours.look([]);
  t.is(neighbours.workers, 0);
  t.is(neighbours.protocol, PROTOCOLS.newest);
});
