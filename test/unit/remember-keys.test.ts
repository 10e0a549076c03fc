/** The keys that `npm start` makes and remembers, without a gateway. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDeadKey, rememberKeys, shownKey } from '@sluice/cli/start/remember-keys';
import { parseConfig } from '@sluice/shared/config/config';
import { makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import type { KeyState } from '@sluice/shared/directory/key-issuer';
import test from 'ava';

const NOW = 1000;
const config = parseConfig(
  {
    workspaces: [
      {
        id: 'demo',
        keys: [
          { name: 'first', value: '${FIRST}' },
          { name: 'second', value: '${SECOND}' },
        ],
      },
    ],
  },
  {},
);
const stored = (expires?: number): KeyState => ({
  state: 'issued',
  stored: {
    digest: '',
    key: {
      id: 'key_1',
      workspace: 'demo',
      name: 'x',
      lastFour: 'abcd',
      created: 0,
      ...(expires === undefined ? {} : { expires }),
    },
  },
});
const isDeadWhen = (states: Record<string, KeyState>) =>
  findDeadKey({ find: async (value) => states[value] ?? { state: 'unused' } }, { now: () => NOW });

test('a key is dead once it was revoked, or its grace period after a rotation is over', async (t) => {
  const isDead = isDeadWhen({
    revoked: { state: 'revoked', revoked: 1 },
    over: stored(NOW),
    rotated: stored(NOW + 1),
    endless: stored(),
  });
  const dead = await Promise.all(['revoked', 'over', 'rotated', 'endless', 'new'].map(isDead));
  t.deepEqual(dead, [true, true, false, false, false]);
});

test('a remembered key is kept while it works, replaced when it is dead, and never shown dead', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const env = { SECOND: makeGatewayKey() };
  const made = await rememberKeys(config, env, folder, async () => false);
  t.deepEqual(Object.keys(made), ['FIRST']);
  t.deepEqual(await rememberKeys(config, env, folder, async () => false), made);

  const isDead = isDeadWhen({ [made.FIRST ?? '']: stored(NOW - 1) });
  t.is(await shownKey(config, { ...env, ...made }, isDead), env.SECOND);
  const fresh = await rememberKeys(config, env, folder, isDead);
  t.truthy(fresh.FIRST);
  t.not(fresh.FIRST, made.FIRST);
  t.is(readFileSync(join(folder, 'FIRST'), 'utf8'), fresh.FIRST ?? '');
  t.is(await shownKey(config, { ...env, ...fresh }, isDead), fresh.FIRST);
});
