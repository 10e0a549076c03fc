/**
 * Reserves budget for a call that is made again. The first worker died or its connection broke, and the provider may bill
 * its call, too. The request has reserved for one call only. This is rare, so the budget is asked for only then.
 */
import type { Redis } from 'ioredis';
import { monthOf } from '../calendar.js';
import type { Directory } from '../directory/directory.js';
import type { Clock } from '../redis/clock.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { toBudgetPicodollars, withMore } from './budgets.js';
import type { ChatJob } from './job.js';
import { lapsesAt, reservationOf } from './workspace-limits.js';

const reserveMoreScript = loadScript<
  0 | 1,
  { reservationsKey: string; reservedKey: string; spentKey: string; money: string },
  {
    budget: string;
    month: string;
    monthMore: number;
    all: number;
    held: string;
    heldText: string;
    allText: string;
    more: number;
    allReserved: string;
    lapsesAt: number;
  }
>(import.meta.url, 'reserve-more');

export class MoreBudget {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly directory: Pick<Directory, 'findWorkspace'>,
    private readonly clock: Clock,
  ) {}

  /** The job with `more` picodollars reserved in addition in each strict budget. Undefined when one does not cover them. */
  async reserve(job: ChatJob, more: number): Promise<ChatJob | undefined> {
    const { workspace, requestId, reserved, held = '' } = job;
    if (job.budget !== 'strict' || reserved === undefined) return job;
    const limits = (await this.directory.findWorkspace(workspace))?.limits;
    const usd = limits?.budget === 'expected' ? undefined : limits?.budgetUsdPerMonth;
    if (usd === undefined && held === '') return job;
    const all = usd === undefined ? reserved : Math.min(reserved + more, Number.MAX_SAFE_INTEGER);
    const allHeld = withMore(held, more);
    const { names } = this;
    const covered = await reserveMoreScript(
      this.redis,
      {
        reservationsKey: names.reservations(workspace),
        reservedKey: names.reserved(workspace),
        spentKey: names.spent(workspace),
        money: names.money(workspace),
      },
      {
        budget: usd === undefined ? '' : String(toBudgetPicodollars(usd)),
        month: monthOf(this.clock.now()),
        monthMore: all - reserved,
        all,
        held: reservationOf(requestId, reserved, held),
        heldText: held,
        allText: allHeld,
        more,
        allReserved: reservationOf(requestId, all, allHeld),
        lapsesAt: lapsesAt(job.deadline),
      },
    );
    if (!covered) return undefined;
    return held === '' ? { ...job, reserved: all } : { ...job, reserved: all, held: allHeld };
  }
}
