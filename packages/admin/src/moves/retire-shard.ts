/** Takes from a shard what is left when its workspaces have moved away, so that the cell can do without it. */
import { GatewayError } from '@sluice/shared/errors';
import { ARCHIVE_GROUP } from '@sluice/shared/queue/log-trim';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { ledgerDays } from '@sluice/shared/redis/ledger-days';
import { loadScript } from '@sluice/shared/redis/script';
import type { ShardKeys } from '@sluice/shared/redis/shard';

/** So many fields of a ledger are added at once. */
const PART = 500;

const addToLedgerScript = loadScript<
  0 | 1,
  { ledgerKey: string; marksKey: string },
  { mark: string; fieldsAndAmounts: readonly string[] }
>(import.meta.url, 'add-to-ledger');

const dropLogScript = loadScript<number, { logKey: string; archiveKey: string }, { now: number }>(
  import.meta.url,
  'drop-log',
  { ARCHIVE_GROUP },
);

/**
 * Adds the ledger of a shard to that of another, each row once, however often this is interrupted and begun again. Nobody writes
 * into the first one meanwhile. The marks say what is in the other already. A mark goes when its rows are gone here.
 */
export async function bringLedger(
  from: ShardKeys,
  to: ShardKeys,
  { ledgerMarks }: Pick<ControlNames, 'ledgerMarks'>,
  now: number,
): Promise<void> {
  const marksKey = ledgerMarks(from.id);
  const rowsOf = async (day: string) =>
    Object.entries(await from.redis.hgetall(from.names.ledger(day))).sort(([a], [b]) => (a < b ? -1 : 1));
  const clean = async (days: ReadonlySet<string>) => {
    const marks = (await to.redis.smembers(marksKey)).filter((mark) => !days.has(mark.split(' ')[0] ?? ''));
    if (marks.length > 0) await to.redis.srem(marksKey, ...marks);
  };
  const days = await ledgerDays(from.redis, from.names, now);
  await clean(new Set(days));
  for (const day of days) {
    const rows = await rowsOf(day);
    for (let i = 0; i < rows.length; i += PART)
      await addToLedgerScript(
        to.redis,
        { ledgerKey: to.names.ledger(day), marksKey },
        { mark: `${day} ${i}`, fieldsAndAmounts: rows.slice(i, i + PART).flat() },
      );
    await from.redis.del(from.names.ledger(day));
  }
  await clean(new Set());
}

/** Throws while a copy lacks some of it. */
export async function dropLog({ id, redis, names }: ShardKeys, now: number): Promise<void> {
  const keys = { logKey: names.requestLog, archiveKey: names.archive };
  const left = await dropLogScript(redis, keys, { now: Math.round(now) });
  if (left > 0)
    throw new GatewayError(
      'conflict',
      `The log of shard ${id} has ${left} entries, and not all of them are in the archive yet. Try again later.`,
      { retryAfterMs: 10_000 },
    );
}
