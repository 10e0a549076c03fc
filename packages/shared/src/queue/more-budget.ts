/**
 * Reserves budget for a call that is made again. The first worker died or its connection broke, and the provider may bill
 * its call, too. The request has reserved for one call only. This is rare, so the budget is asked for only then.
 */
import type { Redis } from 'ioredis';
import { monthOf } from '../calendar.js';
import type { Directory } from '../directory/directory.js';
import type { Clock } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import type { ChatJob } from './job.js';
import { estimatedMonth, lapsesAt, reservationOf, toBudgetPicodollars } from './workspace-limits.js';

const reserveMoreScript = loadScript<
  0 | 1,
  { reservationsKey: string; reservedKey: string; spentKey: string },
  {
    budget: string;
    month: string;
    estimatedMonth: string;
    held: string;
    more: number;
    all: number;
    allReserved: string;
    lapsesAt: number;
  }
>(import.meta.url, 'reserve-more');

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
      {
        reservationsKey: names.reservations(workspace),
        reservedKey: names.reserved(workspace),
        spentKey: names.spent(workspace),
      },
      {
        budget: String(toBudgetPicodollars(budget)),
        month,
        estimatedMonth: estimatedMonth(month),
        held: reservationOf(requestId, held),
        more: reserved - held,
        all: reserved,
        allReserved: reservationOf(requestId, reserved),
        lapsesAt: lapsesAt(job.deadline),
      },
    );
    return covered ? { ...job, reserved } : undefined;
  }
}
