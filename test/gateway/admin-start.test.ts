/** Where the admin listener is, and where it is not. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, run, start } from '../helpers/all-in-one.js';
import test from '../helpers/needs-redis.js';
import { ownPort } from '../helpers/own-port.js';

const ask = async (url: string, token: string) =>
  (await fetch(`${url}/workspaces`, { headers: { authorization: `Bearer ${token}` } })).status;

test('npm start makes an admin token once, keeps it to itself, and says where to use it', async (t) => {
  const folder = makeFolder(t);
  const file = join(folder, 'admin-token');
  const first = await start(t, { folder, args: ['--apis', '2'] });
  const token = readFileSync(file, 'utf8').trim();
  t.is(statSync(file).mode & 0o777, 0o600);
  t.true(token.length >= 32);
  const url = /^Admin api at (\S+) \(token: /m.exec(first.output())?.[1] ?? '';
  t.is(readFileSync(join(folder, 'admin-url'), 'utf8').trim(), url);
  const told = /^ {2}"npx sluice" needs: export ADMIN_URL=(\S+) ADMIN_TOKEN_FILE=(\S+)$/m.exec(
    first.output(),
  );
  t.deepEqual(told?.slice(1), [url, file], 'sluice does not look into this folder by itself');
  t.is(await ask(url, token), 200);
  t.is(await ask(url, `${token}x`), 401);
  t.false(first.output().includes(token));
  t.is(first.output().match(/admin listener ready/g)?.length, 1, 'one api process has it');
  first.child.kill('SIGTERM');
  await first.ended;

  const own = 'a token of the operator';
  const second = await start(t, { folder, env: { ADMIN_TOKEN: own } });
  t.is(readFileSync(file, 'utf8').trim(), token);
  const secondUrl = /^Admin api at (\S+) \(token: /m.exec(second.output())?.[1] ?? '';
  t.is(await ask(secondUrl, token), 401);
  t.is(await ask(secondUrl, own), 200);
});

for (const [what, value] of [
  ['blank', ' '],
  ['short', '15-characters--'],
] as const) {
  test(`an api process refuses a ${what} ADMIN_TOKEN, and does not show it`, async (t) => {
    const gateway = await run(t, {
      command: [process.execPath, 'packages/api/dist/main.js'],
      env: { ADMIN_TOKEN: value, REDIS_URL: `redis://127.0.0.1:${await ownPort()}` },
    });
    t.is((await gateway.ended).code, 1);
    t.regex(
      gateway.output(),
      /^sluice api: environment: 1 mistake\n {2}ADMIN_TOKEN: (?:is blank|must be a secret of at least 16)/,
    );
    t.false(gateway.output().includes('15-characters--'));
  });
}
