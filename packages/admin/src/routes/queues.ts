import type { Router } from '@koa/router';
import { GatewayError } from '@sluice/shared/errors';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { noteChange } from '../access/audit.js';

export interface QueueParts {
  queue: ChatQueue;
  providers: ReadonlyMap<string, unknown>;
}

/** /queues/{provider}/pause and /resume: whether workers take the provider's requests. */
export function addQueueRoutes(router: Router, { queue, providers }: QueueParts): void {
  for (const action of ['pause', 'resume'] as const) {
    router.post(`/queues/:provider/${action}`, async (ctx) => {
      const { provider = '' } = ctx.params;
      if (!providers.has(provider)) throw new GatewayError('not_found', 'There is no provider of this name.');
      noteChange(ctx, {
        before: { paused: await queue.of(provider).isPaused() },
        after: { paused: action === 'pause' },
      });
      await queue.of(provider)[action]();
      ctx.body = { object: 'queue', provider, paused: action === 'pause' };
    });
  }
}
