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
