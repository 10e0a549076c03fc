/** What a workspace's requests have taken lately, for quotes: sums by the ledger, and single answers by the log. */
import { dayOf } from '@sluice/shared/calendar';
import { type Lately, quantile } from '@sluice/shared/queue/lately';
import { ledgerRow } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { ENOUGH_ANSWERS, type PastUse } from '@sluice/shared/registry/line-estimate';
import type { Redis } from 'ioredis';

const DAY_MS = 86_400_000;
const DAYS = 7;
const COLUMNS = ['requests', 'input', 'cached_input', 'cache_write', 'output'];
const LONG = 0.99;
/** Many quotes in a row read the log once. */
const READ_EVERY_MS = 5_000;

export interface PastUseParts {
  redis: Redis;
  names: ShardNames;
  clock: Clock;
  lately: Pick<Lately, 'refresh' | 'answersOf'>;
}

/** What one route of a workspace has taken of a model in the last days. */
export async function readPastUse(
  { redis, names, clock, lately }: PastUseParts,
  workspace: string,
  route: string | null,
  provider: string,
  model: string,
): Promise<PastUse> {
  const row = ledgerRow(workspace, route, provider, model);
  const fields = COLUMNS.map((column) => `${row}:${column}`);
  const now = clock.now();
  const days = Array.from({ length: DAYS }, (_, i) => names.ledger(dayOf(now - i * DAY_MS)));
  const [read] = await Promise.all([
    Promise.all(days.map((day) => redis.hmget(day, ...fields))),
    lately.refresh(READ_EVERY_MS),
  ]);
  const sum = (column: number) => read.reduce((all, day) => all + Number(day[column] ?? 0), 0);
  const answers = lately.answersOf(row);
  return {
    requests: sum(0),
    input: sum(1),
    cachedInput: sum(2),
    cacheWrite: sum(3),
    output: sum(4),
    longAnswer: answers.length < ENOUGH_ANSWERS ? undefined : quantile(answers, LONG),
  };
}
