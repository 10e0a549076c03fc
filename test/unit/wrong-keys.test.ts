import { WrongKeys } from '@sluice/api/http/wrong-keys';
import { GatewayError } from '@sluice/shared/errors';
import { createLogger } from '@sluice/shared/process/logger';
import test from 'ava';

function watch() {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('api', 'info', { write: (line) => lines.push(JSON.parse(line)) });
  let counted = 0;
  // A clock that stands still.
  const wrongKeys = new WrongKeys(
    'admin',
    logger,
    () => counted++,
    () => 0,
  );
  return { wrongKeys, lines, counted: () => counted };
}

/** What became of it before any timer can run, however slow the machine is. */
async function outcome(slowed: Promise<void>): Promise<string> {
  let ended = 'held';
  slowed.then(
    () => {
      ended = 'answered';
    },
    (error) => {
      ended = error instanceof GatewayError ? error.code : String(error);
    },
  );
  for (let i = 0; i < 10; i++) await undefined;
  return ended;
}

test('an address has ten at once, then a few are held up, and the rest are refused', async (t) => {
  const { wrongKeys, lines, counted } = watch();
  const outcomes: string[] = [];
  for (let i = 0; i < 20; i++) outcomes.push(await outcome(wrongKeys.slowDown('192.0.2.1')));
  t.deepEqual(outcomes.slice(0, 10), Array(10).fill('answered'));
  t.is(outcomes[10], 'held');
  t.is(outcomes.at(-1), 'rate_limited');
  t.is(counted(), 20);
  t.is(lines.length, 1, 'one line for all of them');
  t.like(lines[0], { listener: 'admin', address: '192.0.2.1', count: 1 });
  t.is(await outcome(wrongKeys.slowDown('192.0.2.2')), 'answered', 'another address has its own');
});

test('the addresses of one IPv6 network count as one, and IPv4 is itself in IPv6’s clothes', async (t) => {
  const { wrongKeys } = watch();
  for (let i = 0; i < 10; i++) await wrongKeys.slowDown(`2001:db8:0:1::${i}`);
  t.is(await outcome(wrongKeys.slowDown('2001:db8:0:1:ffff::1')), 'held');
  t.is(await outcome(wrongKeys.slowDown('2001:db8:0:2::1')), 'answered');
  for (let i = 0; i < 10; i++) await wrongKeys.slowDown('192.0.2.3');
  t.is(await outcome(wrongKeys.slowDown('::ffff:192.0.2.3')), 'held');
});

test('a hundred thousand addresses take neither the log nor the memory', async (t) => {
  const { wrongKeys, lines } = watch();
  for (let i = 0; i < 100_000; i++) await wrongKeys.slowDown(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  t.is(lines.length, 100);
});
