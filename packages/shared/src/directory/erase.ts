/** Erases what Redis has of a workspace beside its record, keys and routes. */
import type { Redis } from 'ioredis';
import { LISTED_STATUSES } from '../contract/completion.js';
import { type ControlNames, FILE_PURPOSES, type ShardNames } from '../redis/key-names.js';
import { ledgerDays } from '../redis/ledger-days.js';

const AT_ONCE = 250;
const HOUR_MS = 3_600_000;
/** Counts of refusals expire after two days. */
const REFUSAL_HOURS = 49;

/** Erases reservations, spend, kept answers, webhooks, files and batches, so that a new workspace of this id starts clean. */
export async function eraseState(redis: Redis, names: ShardNames, workspace: string): Promise<void> {
  const kept = await redis.zrange(names.keptAnswers(workspace), '0', '-1');
  const answers = kept.map((answer) => names.idempotency(workspace, answer.split(':')[0] ?? ''));
  for (let i = 0; i < answers.length; i += AT_ONCE) await redis.del(...answers.slice(i, i + AT_ONCE));
  const counters = await redis.zrange(names.money(workspace, 'values'), '0', '-1');
  const lanes = ['places', 'month', ...counters].map((name) => names.money(workspace, `lane:${name}`));
  const money = [...counters.map((name) => names.money(workspace, `counter:${name}`)), ...lanes];
  for (let i = 0; i < money.length; i += AT_ONCE) await redis.del(...money.slice(i, i + AT_ONCE));
  await redis.del(
    names.money(workspace, 'values'),
    names.money(workspace, 'waiting'),
    names.money(workspace, 'usual'),
    names.money(workspace, 'most'),
    names.keptAnswers(workspace),
    names.keptAnswerBytes(workspace),
    names.prefixes(workspace),
    `${names.prefixes(workspace)}:order`,
    names.reservations(workspace),
    names.reserved(workspace),
    names.workspaceTokens(workspace),
    names.requestTimes(workspace),
    names.spent(workspace),
    names.webhooks(workspace),
    names.webhookDeliveries(workspace),
    names.webhookOrder(workspace),
    ...(names.fence ? [names.fence(workspace)] : []),
  );
  await cancelRequests(redis, names, workspace);
  await eraseFiles(redis, names, workspace);
  await eraseBatches(redis, names, workspace);
}

/** The calls with a revoked key of a deleted workspace are counted as those with an unknown key. */
export async function forgetRevokedKeys(redis: Redis, names: ControlNames, workspace: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, fields] = await redis.hscan(names.revokedKeyIds, cursor, 'COUNT', AT_ONCE);
    const meant = fields.filter((_, i) => i % 2 === 0 && fields[i + 1]?.endsWith(` ${workspace}`));
    if (meant.length > 0) await redis.hdel(names.revokedKeyIds, ...meant);
    cursor = next;
  } while (cursor !== '0');
}

/** An api process ends the requests in the background that are under way. */
async function cancelRequests(redis: Redis, names: ShardNames, workspace: string): Promise<void> {
  await redis.del(...['all', 'bytes', ...LISTED_STATUSES].map((status) => names.requests(workspace, status)));
  let cursor = '0';
  do {
    const [next, found] = await redis.zscan(names.requestsDue, cursor, 'COUNT', AT_ONCE);
    for (let i = 0; i < found.length; i += 2) {
      const member = found[i] ?? '';
      if (member.slice(0, -65) !== workspace) continue;
      const record = names.idempotency(workspace, member.slice(-64));
      if (await redis.exists(record)) await redis.hset(record, 'cancel', '1');
      await redis.zadd(names.requestsDue, 'XX', '0', member);
    }
    cursor = next;
  } while (cursor !== '0');
}

/** Erases the records. The bytes follow soon: an api process removes every object whose time is over. */
async function eraseFiles(redis: Redis, names: ShardNames, workspace: string): Promise<void> {
  for (const record of await redis.hvals(names.files(workspace))) {
    const { object } = JSON.parse(record) as { object: string };
    await redis.zadd(names.fileObjects, '0', object);
  }
  await redis.del(
    names.files(workspace),
    names.fileBytes(workspace),
    names.fileOrderBytes(workspace),
    ...[undefined, ...FILE_PURPOSES].map((purpose) => names.fileOrder(workspace, purpose)),
  );
}

/** An api process that runs one of these batches finds it gone and stops. */
async function eraseBatches(redis: Redis, names: ShardNames, workspace: string): Promise<void> {
  for (const id of await redis.zrange(names.batches(workspace), '0', '-1')) {
    for (const part of await redis.lrange(names.batchParts(id), '0', '-1')) {
      const { object } = JSON.parse(part) as { object: string };
      await redis.zadd(names.fileObjects, '0', object);
    }
    await redis.zrem(names.activeBatches, id);
    await redis.del(names.batch(id), names.batchLines(id), names.batchResults(id), names.batchParts(id));
  }
  await redis.del(names.batches(workspace));
}

export interface Erased {
  logEntries: number;
  ledgerRows: number;
}

/** Erases the counts of the workspace's refusals. */
export async function eraseTurnedAway(
  redis: Redis,
  names: ControlNames,
  workspace: string,
  now: number,
): Promise<void> {
  const hour = Math.floor(now / HOUR_MS);
  for (let back = 0; back <= REFUSAL_HOURS; back++)
    await eraseFields(redis, names.turnedAway(String(hour - back)), `[[]*,"${workspace}",*`);
}

/**
 * Erases the workspace's entries in the request log, its refusals that are not logged yet, and its rows in the ledger. It may
 * be repeated, to erase what was written meanwhile.
 */
export async function eraseHistory(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  now: number,
): Promise<Erased> {
  await eraseFields(redis, names.refusals, `[[]*,"${workspace}",*`);
  return {
    logEntries: await eraseLog(redis, names, workspace),
    ledgerRows: await eraseLedger(redis, names, workspace, now),
  };
}

async function eraseLog(redis: Redis, names: ShardNames, workspace: string): Promise<number> {
  const isMeant = (text = '') => (JSON.parse(text) as { workspace: string }).workspace === workspace;
  let erased = 0;
  for (let from = '-'; ; ) {
    const entries = await redis.xrange(names.requestLog, from, '+', 'COUNT', AT_ONCE);
    const ids = entries.filter(([, fields]) => isMeant(fields[1])).map(([id]) => id);
    if (ids.length > 0) erased += await redis.xdel(names.requestLog, ...ids);
    if (entries.length < AT_ONCE) return erased;
    from = `(${entries.at(-1)?.[0]}`;
  }
}

async function eraseLedger(redis: Redis, names: ShardNames, workspace: string, now: number): Promise<number> {
  const rows = new Set<string>();
  for (const day of (await ledgerDays(redis, names, now)).map(names.ledger)) {
    for (const column of await eraseFields(redis, day, `[[]"${workspace}",*`))
      rows.add(`${day} ${column.slice(0, column.lastIndexOf(':'))}`);
  }
  return rows.size;
}

/** Returns the fields of the hash that were erased. */
async function eraseFields(redis: Redis, key: string, pattern: string): Promise<string[]> {
  const erased: string[] = [];
  let cursor = '0';
  do {
    const [next, fields] = await redis.hscan(key, cursor, 'MATCH', pattern, 'COUNT', AT_ONCE);
    const found = fields.filter((_, i) => i % 2 === 0);
    if (found.length > 0) await redis.hdel(key, ...found);
    erased.push(...found);
    cursor = next;
  } while (cursor !== '0');
  return erased;
}
