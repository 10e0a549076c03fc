/** What Redis has of a workspace beside its record, keys and routes, and how it is taken away. */
import type { Redis } from 'ioredis';
import { dayOf } from '../calendar.js';
import type { KeyNames } from '../redis/key-names.js';

const AT_ONCE = 250;
const DAY_MS = 86_400_000;
/** Older ledgers than these are not looked for. */
const LEDGER_DAYS = 5 * 366;

/** What it has in flight, what it has spent this month, and the answers that it has kept: a successor starts clean. */
export async function eraseState(redis: Redis, names: KeyNames, workspace: string): Promise<void> {
  const kept = await redis.zrange(names.keptAnswers(workspace), '0', '-1');
  const answers = kept.map((answer) => names.idempotency(workspace, answer.split(':')[0] ?? ''));
  for (let i = 0; i < answers.length; i += AT_ONCE) await redis.del(...answers.slice(i, i + AT_ONCE));
  await redis.del(
    names.keptAnswers(workspace),
    names.keptAnswerBytes(workspace),
    names.reservations(workspace),
    names.reserved(workspace),
    names.requestTimes(workspace),
    names.spent(workspace),
  );
}

export interface Erased {
  logEntries: number;
  ledgerRows: number;
}

/** Its entries in the request log and its rows in the ledger. Repeatable: what is written later is found the next time. */
export async function eraseHistory(
  redis: Redis,
  names: KeyNames,
  workspace: string,
  now: number,
): Promise<Erased> {
  return {
    logEntries: await eraseLog(redis, names, workspace),
    ledgerRows: await eraseLedger(redis, names, workspace, now),
  };
}

async function eraseLog(redis: Redis, names: KeyNames, workspace: string): Promise<number> {
  let erased = 0;
  for (let from = '-'; ; ) {
    const entries = await redis.xrange(names.requestLog, from, '+', 'COUNT', AT_ONCE);
    const ids = entries
      .filter(([, fields]) => (JSON.parse(fields[1] ?? '') as { workspace: string }).workspace === workspace)
      .map(([id]) => id);
    if (ids.length > 0) erased += await redis.xdel(names.requestLog, ...ids);
    if (entries.length < AT_ONCE) return erased;
    from = `(${entries.at(-1)?.[0]}`;
  }
}

async function eraseLedger(redis: Redis, names: KeyNames, workspace: string, now: number): Promise<number> {
  const days = Array.from({ length: LEDGER_DAYS }, (_, i) => names.ledger(dayOf(now - i * DAY_MS)));
  const rows = new Set<string>();
  const exists = await Promise.all(days.map((day) => redis.exists(day)));
  for (const day of days.filter((_, i) => exists[i] === 1)) {
    let cursor = '0';
    do {
      const [next, fields] = await redis.hscan(day, cursor, 'MATCH', `[[]"${workspace}",*`, 'COUNT', AT_ONCE);
      const columns = fields.filter((_, i) => i % 2 === 0);
      if (columns.length > 0) await redis.hdel(day, ...columns);
      for (const column of columns) rows.add(`${day} ${column.slice(0, column.lastIndexOf(':'))}`);
      cursor = next;
    } while (cursor !== '0');
  }
  return rows.size;
}
