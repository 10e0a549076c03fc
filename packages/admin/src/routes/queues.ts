import type { Router } from '@koa/router';
import { GatewayError } from '@sluice/shared/errors';
import { noteChange } from '../access/audit.js';
import type { AdminShards } from '../shards.js';

export interface QueueParts {
  shards: AdminShards;
  providers: ReadonlyMap<string, unknown>;
}

/** /queues/{provider}/pause and /resume: whether workers take the provider's requests. */
export function addQueueRoutes(router: Router, { shards, providers }: QueueParts): void {
  for (const action of ['pause', 'resume'] as const) {
    router.post(`/queues/:provider/${action}`, async (ctx) => {
      const { provider = '' } = ctx.params;
      if (!providers.has(provider))
        throw new GatewayError('not_found', 'There is no provider with this name.');
      noteChange(ctx, {
        before: { paused: await shards.at().queue.of(provider).isPaused() },
        after: { paused: action === 'pause' },
      });
      await Promise.all(shards.all.map(({ queue }) => queue.of(provider)[action]()));
      ctx.body = { object: 'queue', provider, paused: action === 'pause' };
    });
  }
}
