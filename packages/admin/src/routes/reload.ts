import type { Router } from '@koa/router';
import type { Reload } from '@sluice/shared/admin-api';
import type { Clock } from '@sluice/shared/redis/clock';
import { iso } from '../http/present.js';

export interface ReloadParts {
  clock: Clock;
  /** Asks every process to read its file again. */
  askToReload(): Promise<number>;
}

/** /reload: every process reads its gateway.yaml again. /status shows the result. */
export function addReloadRoutes(router: Router, { clock, askToReload }: ReloadParts): void {
  router.post('/reload', async (ctx) => {
    const time = iso(clock.now());
    ctx.body = { object: 'reload', time, processes: await askToReload() } satisfies Reload;
  });
}
