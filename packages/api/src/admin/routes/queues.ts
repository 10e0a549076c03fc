import type { Router } from '@koa/router';
import { GatewayError } from '@sluice/shared/errors';
import type { Queues } from '@sluice/shared/queue/queues';
import { noteChange } from '../access/audit.js';

export interface QueueParts {
  queues: Queues;
  providers: ReadonlyMap<string, unknown>;
}

/** /queues/{provider}/pause and /resume: whether workers take the provider's requests. */
export function addQueueRoutes(router: Router, { queues, providers }: QueueParts): void {
  for (const action of ['pause', 'resume'] as const) {
    router.post(`/queues/:provider/${action}`, async (ctx) => {
      const { provider = '' } = ctx.params;
      if (!providers.has(provider)) throw new GatewayError('not_found', 'There is no provider of this name.');
      noteChange(ctx, {
        before: { paused: await queues.of(provider).isPaused() },
        after: { paused: action === 'pause' },
      });
      await queues.of(provider)[action]();
      ctx.body = { object: 'queue', provider, paused: action === 'pause' };
    });
  }
}
