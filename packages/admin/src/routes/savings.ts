import type { Router } from '@koa/router';
import type { Saving, SavingList } from '@sluice/shared/admin-api';
import { monthOf } from '@sluice/shared/calendar';
import { noQuery } from '@sluice/shared/contract/query';
import type { PlannedSums } from '@sluice/shared/queue/planned-sums';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatUsd } from '@sluice/shared/registry/price';
import { seenBy } from '../access/guard.js';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import { list } from '../http/present.js';
import { readInput } from '../http/read-input.js';

const AT_ONCE = 250;

export interface SavingParts {
  clock: Clock;
  snapshot: DirectorySnapshot;
  readPlannedSums(workspace: string, month: string): Promise<PlannedSums>;
}

/** /savings: what requests with a deadline have saved in this month, by workspace, and how many were late. */
export function addSavingRoutes(router: Router, { clock, snapshot, readPlannedSums }: SavingParts): void {
  router.get('/savings', async (ctx) => {
    readInput(noQuery, ctx.query);
    const seen = seenBy(ctx);
    const ids = (await snapshot.read()).map(({ id }) => id).filter((id) => !seen || seen.has(id));
    const month = monthOf(clock.now());
    const savings: Saving[] = [];
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      const some = ids.slice(i, i + AT_ONCE);
      const sums = await Promise.all(some.map((id) => readPlannedSums(id, month)));
      savings.push(
        ...sums.flatMap((each, at) => (each.requests > 0 ? present(some[at] ?? '', month, each) : [])),
      );
    }
    ctx.body = list(savings.sort((a, b) => Number(b.saved_usd) - Number(a.saved_usd))) satisfies SavingList;
  });
}

function present(
  workspace: string,
  month: string,
  { requests, missed, cost, standard }: PlannedSums,
): Saving {
  return {
    object: 'saving',
    ...{ workspace, month, requests, missed },
    cost_usd: formatUsd(cost),
    standard_usd: formatUsd(standard),
    saved_usd: formatUsd(standard - cost),
  };
}
