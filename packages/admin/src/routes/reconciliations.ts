import type { Router } from '@koa/router';
import type { ReconciliationList } from '@sluice/shared/admin-api';
import { ID } from '@sluice/shared/contract/common';
import { noQuery } from '@sluice/shared/contract/query';
import { MONTH, reconcileInput } from '@sluice/shared/contract/reconciliation';
import { GatewayError } from '@sluice/shared/errors';
import type { LiveRegistry } from '@sluice/shared/registry/live-registry';
import type { Middleware } from 'koa';
import { noteChange } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { list } from '../http/present.js';
import { readInput, refuse } from '../http/read-input.js';
import { type ReconcileParts, reconcile } from '../reconcile/reconcile.js';

export interface ReconciliationParts extends Omit<ReconcileParts, 'registry'> {
  registry: LiveRegistry;
  /** Reads bodies as large as an invoice. */
  readDocument: Middleware;
}

/** /reconciliations: the ledger beside a provider's own account. */
export function addReconciliationRoutes(router: Router, parts: ReconciliationParts): void {
  const { adjustments, providers, registry, readDocument } = parts;

  router.get('/reconciliations', async (ctx) => {
    readInput(noQuery, ctx.query);
    ctx.body = list(await adjustments.summaries()) satisfies ReconciliationList;
  });

  router.get('/reconciliations/:provider/:month', async (ctx) => {
    const { provider = '', month = '' } = ctx.params;
    const isName = ID.pattern.test(provider) && MONTH.pattern.test(month);
    const found = isName ? await adjustments.reconciliation(provider, month) : undefined;
    if (!found) throw new GatewayError('not_found', 'This provider and month were not reconciled.');
    ctx.body = found;
  });

  router.post('/reconciliations', readDocument, async (ctx) => {
    const input = readInput(reconcileInput, ctx.request.body);
    if (!providers.has(input.provider)) refuse('provider', 'must be a provider of this gateway');
    const by = principalOf(ctx).name;
    const { data, ...result } = await reconcile(
      { ...parts, registry: () => registry.current },
      { ...input, by },
    );
    const { provider, month, total } = result;
    noteChange(ctx, { after: { provider, month, settle: input.settle, ...total } });
    ctx.body = { ...result, data };
  });
}
