/**
 * Reserves budget for a call that is made again. The first worker died or its connection broke, and the provider may bill
 * its call, too. The request has reserved for one call only. This is rare, so the budget is asked for only then.
 */
import type { Redis } from 'ioredis';
import { monthOf } from '../calendar.js';
import type { Directory } from '../directory/directory.js';
import type { Clock } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';
import type { ChatJob } from './job.js';
import { estimatedMonth, lapsesAt, reservationOf, toBudgetPicodollars } from './workspace-limits.js';

const reserveMoreScript = createScript<0 | 1>(
  'sluiceReserveMore',
  `${ALSO_WHEN_FULL}
local reservationsKey, reservedKey, spentKey = unpack(KEYS)
local budget, month, estimatedMonth, held, more, all, allReserved, lapsesAt = unpack(ARGV)
-- This is sent again when its confirmation was lost. A worker that died may have reserved the same, too.
if redis.call('ZSCORE', reservationsKey, allReserved) then return 1 end
local spent, estimated = unpack(redis.call('HMGET', spentKey, month, estimatedMonth))
local reserved = redis.call('GET', reservedKey) or 0
if (spent or 0) + (estimated or 0) + reserved + more > tonumber(budget) then return 0 end
redis.call('INCRBY', reservedKey, redis.call('ZREM', reservationsKey, held) == 1 and more or all)
redis.call('ZADD', reservationsKey, lapsesAt, allReserved)
return 1
`,
);

export class MoreBudget {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly directory: Pick<Directory, 'findWorkspace'>,
    private readonly clock: Clock,
  ) {}

  /** The job with `more` picodollars reserved in addition. Undefined when the budget does not cover them. */
  async reserve(job: ChatJob, more: number): Promise<ChatJob | undefined> {
    const { workspace, requestId, reserved: held } = job;
    if (job.budget !== 'strict' || held === undefined) return job;
    const budget = (await this.directory.findWorkspace(workspace))?.limits.budgetUsdPerMonth;
    if (budget === undefined) return job;
    const reserved = Math.min(held + more, Number.MAX_SAFE_INTEGER);
    const month = monthOf(this.clock.now());
    const { names } = this;
    const covered = await reserveMoreScript(
      this.redis,
      [names.reservations(workspace), names.reserved(workspace), names.spent(workspace)],
      [
        String(toBudgetPicodollars(budget)),
        month,
        estimatedMonth(month),
        reservationOf(requestId, held),
        reserved - held,
        reserved,
        reservationOf(requestId, reserved),
        lapsesAt(job.deadline),
      ],
    );
    return covered ? { ...job, reserved } : undefined;
  }
}
