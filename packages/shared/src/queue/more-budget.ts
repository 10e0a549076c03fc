/**
 * Reserves budget for a call that is made again. The first worker died or its connection broke, or the request has left the
 * provider's own batch, and the provider may bill that, too. The request has reserved for one call only. This is rare, so the
 * budget is asked for only then.
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

export interface MoreKeys {
  reservationsKey: string;
  reservedKey: string;
  spentKey: string;
  money: string;
}

export interface MoreArgs {
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

/** What lua/parts/reserve-more.lua needs, and the job with all of it reserved. */
export interface More {
  job: ChatJob;
  keys: MoreKeys;
  args: MoreArgs;
}

const reserveMoreScript = loadScript<0 | 1, MoreKeys, MoreArgs>(import.meta.url, 'reserve-more');

export class MoreBudget {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly directory: Pick<Directory, 'findWorkspace'>,
    private readonly clock: Clock,
  ) {}

  /** The job with `more` picodollars reserved in addition in each strict budget. Undefined when one does not cover them. */
  async reserve(job: ChatJob, more: number): Promise<ChatJob | undefined> {
    const asked = await this.ask(job, more);
    if (!asked) return job;
    return (await reserveMoreScript(this.redis, asked.keys, asked.args)) === 1 ? asked.job : undefined;
  }

  /** The same for a script that does more than that. Undefined: the job has no strict budget. */
  async ask(job: ChatJob, more: number): Promise<More | undefined> {
    const { workspace, requestId, reserved, held = '' } = job;
    if (job.budget !== 'strict' || reserved === undefined) return undefined;
    const limits = (await this.directory.findWorkspace(workspace))?.limits;
    const usd = limits?.budget === 'expected' ? undefined : limits?.budgetUsdPerMonth;
    if (usd === undefined && held === '') return undefined;
    const all = usd === undefined ? reserved : Math.min(reserved + more, Number.MAX_SAFE_INTEGER);
    const allHeld = withMore(held, more);
    const { names } = this;
    return {
      job: held === '' ? { ...job, reserved: all } : { ...job, reserved: all, held: allHeld },
      keys: {
        reservationsKey: names.reservations(workspace),
        reservedKey: names.reserved(workspace),
        spentKey: names.spent(workspace),
        money: names.money(workspace),
      },
      args: {
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
    };
  }
}
