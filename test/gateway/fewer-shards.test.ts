/** A cell gives up its last shard: nothing that was spent is lost, and then processes may know fewer. */
import { bringLedger } from '@sluice/admin/moves/retire-shard';
import { dayOf } from '@sluice/shared/calendar';
import { controlNames } from '@sluice/shared/redis/key-names';
import { namesOfShard } from '@sluice/shared/redis/shard';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { ownersOf } from '../helpers/owners.js';
import { sluiceOf } from '../helpers/sluice.js';

const SHARDS = 3;
const LAST = SHARDS - 1;
const OWNERS = ownersOf(SHARDS);
const fewer = { SLUICE_SHARDS: String(LAST) };
/** One that does not start leaves nothing open. */
const OWN = { ownProcess: true };

let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  const routes = { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
  gateway = await startGateway({
    env: { SLUICE_SHARDS: String(SHARDS) },
    workspaces: Object.fromEntries(OWNERS.map((id) => [id, { routes }])),
  });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

const ask = (workspace: string, url = gateway.url) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'hello' }] },
    { key: gateway.keys[workspace] ?? '', url },
  );
const spend = async () => (await admin('GET', '/spend?by=workspace')).body.data;

test.serial(
  'the last shard is given up when nothing is left in it, and a process says what is',
  async (t) => {
    const sluice = sluiceOf(gateway);
    for (const workspace of OWNERS) t.is((await ask(workspace)).status, 200);
    const before = await spend();
    t.is(before.length, SHARDS);
    await t.throwsAsync(gateway.addWorker(fewer, OWN), {
      message: new RegExp(
        `SLUICE_SHARDS is 2, but this cell has 3 shards, and workspace ${OWNERS[LAST]} lives in shard 2`,
      ),
    });
    t.is((await admin('DELETE', `/shards/${LAST}`)).status, 409);
    t.is((await admin('DELETE', '/shards/0')).status, 409);
    t.is((await admin('DELETE', '/shards/9')).status, 404);

    t.is((await sluice(`shards empty ${LAST} --yes`)).code, 0);
    await t.throwsAsync(gateway.addApi(fewer, OWN), { message: /and shard 2 has a log of requests/ });
    const given = await sluice(`shards empty ${LAST} --give-up --yes`);
    t.is(given.code, 0, given.err);
    t.deepEqual(await spend(), before);
    t.deepEqual(await gateway.redis.smembers(controlNames(gateway.cell).ledgerMarks(LAST)), []);

    await gateway.addWorker(fewer);
    const { url = '' } = await gateway.addApi(fewer);
    for (const workspace of OWNERS) t.is((await ask(workspace, url)).status, 200);
    t.deepEqual(
      (await spend()).map(({ requests }: { requests: number }) => requests),
      [2, 2, 2],
    );
  },
);

test.serial('a ledger is brought to another shard once, wherever that is interrupted', async (t) => {
  const { redis } = gateway;
  const now = Date.now();
  const day = dayOf(now);
  const cell = `${gateway.cell}-ledger`;
  const [to, from] = [0, 1].map((id) => ({ id, redis, names: namesOfShard(cell, id) }));
  if (!to || !from) throw new Error('no shards');
  const control = controlNames(cell);
  const rows = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, i) => [`["a","r${i}"]:requests`, String(i + 1)]),
  );
  await redis.hset(to.names.ledger(day), '["a","r0"]:requests', '100');
  const sum = async () =>
    Object.values(await redis.hgetall(to.names.ledger(day))).reduce((all, each) => all + Number(each), 0);
  const whole = (1_200 * 1_201) / 2;
  for (const [round, command] of ['del', 'srem'].entries()) {
    await redis.hset(from.names.ledger(day), rows);
    // This process dies at the first such command.
    const dying = new Proxy(redis, {
      get(target, name) {
        if (name === command) return () => Promise.reject(new Error('died'));
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await t.throwsAsync(bringLedger({ ...from, redis: dying }, { ...to, redis: dying }, control, now));
    await bringLedger(from, to, control, now);
    await bringLedger(from, to, control, now);
    t.is(await sum(), 100 + (round + 1) * whole);
    t.is(await redis.exists(from.names.ledger(day), control.ledgerMarks(1)), 0);
  }
});
