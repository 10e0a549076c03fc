import type { ScopedBudgetState } from '@sluice/shared/contract/budget';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import type { Spender } from '@sluice/shared/queue/budgets';
import type { Middleware } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { Authenticated } from '../http/authenticate.js';
import { readTags, readUser, TAGS_HEADER } from './tags.js';

export interface BudgetRouteParts {
  directory: DirectoryCache;
  readOwnBudgets(workspace: string, spender: Spender, limits: LimitsConfig): Promise<ScopedBudgetState[]>;
}

/** GET /v1/budget: what is left of the budgets that a request of this caller would concern. */
export function createBudgetRoute({
  directory,
  readOwnBudgets,
}: BudgetRouteParts): Middleware<Authenticated> {
  return async (ctx) => {
    const { workspace, id: keyId } = ctx.state.key;
    const { limits = {} } = (await directory.findWorkspace(workspace)) ?? {};
    const asked = { user: ctx.query.user } as Parameters<typeof readUser>[0];
    const spender = { keyId, user: readUser(asked), tags: readTags(ctx.get(TAGS_HEADER), asked) };
    const data = await readOwnBudgets(workspace, spender, limits);
    ctx.body = { object: 'list', data };
  };
}
