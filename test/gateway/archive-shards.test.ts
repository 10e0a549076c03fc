/** The logs of several shards in one archive: every entry once, and the lists of Redis and PostgreSQL as one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import test from '../helpers/needs-postgres.js';
import { ownersOf } from '../helpers/owners.js';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { until } from '../helpers/until.js';

const SHARDS = 3;
const EACH = 20;
/** Redis keeps fewer of each shard than are sent. */
const KEPT = 5;
const OWNERS = ownersOf(SHARDS);
const routes = { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const folder = mkdtempSync(join(tmpdir(), 'sluice-archive-shards-'));
let postgres: PostgresServer;
let gateway: Gateway;
let admin: CallAdmin;

test.before(async () => {
  postgres = await startTestPostgres(join(folder, 'postgres'));
  gateway = await startProcesses({
    requestLog: { max_entries: SHARDS * KEPT },
    env: { DATABASE_URL: postgres.ownerUrl, SLUICE_SHARDS: String(SHARDS) },
    workspaces: Object.fromEntries(OWNERS.map((id) => [id, { routes }])),
  });
  admin = adminOf(gateway);
});
test.after.always(async () => {
  await gateway?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function listAll(query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await admin('GET', `/requests?limit=7${query}${before}`);
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.has_more) return ids;
    before = `&before=${body.next_before}`;
  }
}

test.serial('every request of every shard is in the archive once, and on one page', async (t) => {
  const sent: string[] = [];
  for (let i = 0; i < EACH; i++) {
    const answers = await Promise.all(
      OWNERS.map((workspace) =>
        gateway.chat(
          { model: 'fast', messages: [{ role: 'user', content: `${i}` }] },
          { key: gateway.keys[workspace] ?? '' },
        ),
      ),
    );
    sent.push(...answers.map(({ headers }) => headers.get('x-request-id') ?? ''));
  }
  const wanted = sent.map((id) => (id.startsWith('req_') ? id : `req_${id}`)).sort();
  await until('the logs to be archived and trimmed', async () => {
    const lengths = gateway.shards.map(({ redis, names }) => redis.xlen(names.requestLog));
    return (await Promise.all(lengths)).every((length) => length < EACH);
  });
  for (const query of ['', '&sort=cost', '&sort=duration'])
    t.deepEqual((await listAll(query)).sort(), wanted, query);
  const byOne = await listAll(`&workspace=${OWNERS[2]}`);
  t.is(byOne.length, EACH);
  t.is(new Set(byOne).size, EACH);
  const file = await fetch(`${gateway.adminUrl}/requests/export`, {
    headers: { authorization: `Bearer ${gateway.adminToken}` },
  });
  const exported = (await file.text()).trim().split('\n');
  t.deepEqual(exported.map((text) => JSON.parse(text).id).sort(), wanted);

  const { body: spend } = await admin('GET', '/spend?by=workspace,key');
  t.true(spend.complete);
  t.deepEqual(
    spend.data.map((row: { workspace: string; requests: number }) => [row.workspace, row.requests]).sort(),
    OWNERS.map((workspace) => [workspace, EACH]).sort(),
  );
  const { body: status } = await admin('GET', '/status');
  t.is(status.copies.postgres.spilled_entries, 0);
});
