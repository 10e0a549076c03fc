import type { Router } from '@koa/router';
import type { CoolDown, List } from '@sluice/shared/admin-api';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { GatewayError } from '@sluice/shared/errors';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { Clock } from '@sluice/shared/redis/clock';
import { noteChange } from '../access/audit.js';
import { iso } from '../http/present.js';

export interface CoolDownParts {
  clock: Clock;
  providers: ReadonlyMap<string, ProviderConfig>;
  coolDowns: CoolDowns;
}

/** /cooldowns: lists the providers and models that cool down, and ends cool-downs. */
export function addCoolDownRoutes(router: Router, { clock, providers, coolDowns }: CoolDownParts): void {
  router.get('/cooldowns', (ctx) => {
    const now = clock.now();
    ctx.body = {
      object: 'list',
      data: [...providers.keys()].flatMap((provider) =>
        coolDowns.list(provider).map(({ model, tier, until, asked }) => ({
          object: 'cooldown' as const,
          provider,
          model,
          service_tier: tier,
          until: iso(until),
          remaining_ms: Math.max(0, Math.ceil(until - now)),
          asked_until: iso(asked),
        })),
      ),
    } satisfies List<CoolDown>;
  });

  router.delete('/cooldowns/:provider', async (ctx) => {
    const { provider = '' } = ctx.params;
    if (!providers.has(provider)) throw new GatewayError('not_found', 'There is no provider with this name.');
    const { model } = ctx.query;
    if (Array.isArray(model))
      throw new GatewayError('invalid_request', 'Give one model, or none for all.', { param: 'model' });
    noteChange(ctx, { before: { cool_downs: coolDowns.list(provider).length } });
    const lifted = await coolDowns.lift(provider, model);
    noteChange(ctx, { after: { lifted } });
    ctx.body = { object: 'cooldown', provider, model: model ?? null, lifted };
  });
}
