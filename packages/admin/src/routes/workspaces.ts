import type { Router } from '@koa/router';
import type { DeletedWorkspace, ErasedUser, WorkspaceState } from '@sluice/shared/admin-api';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { id as workspaceId } from '@sluice/shared/contract/common';
import { toLimits } from '@sluice/shared/contract/limits';
import { eraseQuery } from '@sluice/shared/contract/query';
import { workspaceChange, workspaceInput } from '@sluice/shared/contract/workspace';
import { type Directory, deletedAt, type WorkspaceRecord } from '@sluice/shared/directory/directory';
import type { Erased } from '@sluice/shared/directory/erase';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import type { AdminTokens } from '../access/admin-tokens.js';
import { noteChange } from '../access/audit.js';
import { seenBy } from '../access/guard.js';
import { iso, list, presentWorkspace } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { type LimitUse, refusingSinceOf } from '../spend/budget.js';

export interface DirectoryParts {
  directory: Directory;
  clock: Clock;
  /** Erases an end user from the log in Redis. Returns how many entries named the user. */
  eraseUser(workspace: string, user: string): Promise<number>;
  /**
   * Has a worker erase a workspace, or one of its end users, from PostgreSQL, and refuse what ended before `until`, or now.
   * Undefined when there is no PostgreSQL.
   */
  eraseArchive?:
    | ((whom: { workspace: string; endUser?: string; until?: number }) => Promise<void>)
    | undefined;
  /** Whether PostgreSQL has anything of the workspace left that is to be erased. */
  isErasing(workspace: string): Promise<boolean>;
  tokens: Pick<AdminTokens, 'list'>;
  /** How long a request may take. */
  requestTimes: GatewayConfig['request'];
  readBody: Middleware;
  readLimitUse(workspace: string): Promise<LimitUse>;
}

/** /workspaces and /workspaces/{id} */
export function addWorkspaceRoutes(router: Router, parts: DirectoryParts): void {
  const { directory, clock, readBody, eraseArchive, readLimitUse, requestTimes } = parts;
  addUserRoutes(router, parts);

  /** Only a workspace with a budget is asked for in Redis. */
  const presentState = async (workspace: WorkspaceRecord): Promise<WorkspaceState> => {
    const { budgetUsdPerMonth: budget } = workspace.limits;
    const since = budget === undefined ? null : refusingSinceOf(budget, await readLimitUse(workspace.id));
    return { ...presentWorkspace(workspace), refusing_since: since };
  };

  router.get('/workspaces', async (ctx) => {
    const seen = seenBy(ctx);
    const workspaces = (await directory.listWorkspaces()).filter(({ id }) => !seen || seen.has(id));
    ctx.body = list(await Promise.all(workspaces.map(presentState)));
  });

  router.post('/workspaces', readBody, async (ctx) => {
    const { id, name = id, models, limits = {} } = readInput(workspaceInput, ctx.request.body);
    await freeId(parts, id);
    const workspace = {
      id,
      name,
      models: models ?? undefined,
      limits: toLimits(limits),
      created: clock.now(),
    };
    if (!(await directory.createWorkspace(workspace)))
      throw new GatewayError('conflict', 'There is already a workspace with this id.', { param: 'id' });
    noteChange(ctx, { after: presentWorkspace(workspace) });
    ctx.status = 201;
    ctx.body = presentWorkspace(workspace);
  });

  router.get('/workspaces/:id', async (ctx) => {
    const workspace = await directory.findWorkspace(ctx.params.id ?? '');
    if (!workspace) throw noWorkspace();
    ctx.body = await presentState(workspace);
  });

  router.patch('/workspaces/:id', readBody, async (ctx) => {
    const { name, models, limits } = readInput(workspaceChange, ctx.request.body);
    const changed = await directory.changeWorkspace(ctx.params.id ?? '', (workspace) => {
      noteChange(ctx, { before: presentWorkspace(workspace) });
      return {
        ...workspace,
        // Null removes the restriction.
        ...(models === undefined ? {} : { models: models ?? undefined }),
        name: name ?? workspace.name,
        limits: limits ? toLimits(limits) : workspace.limits,
      };
    });
    if (!changed) throw noWorkspace();
    noteChange(ctx, { after: presentWorkspace(changed) });
    ctx.body = presentWorkspace(changed);
  });

  router.delete('/workspaces/:id', async (ctx) => {
    const id = ctx.params.id ?? '';
    const erase = readInput(eraseQuery, ctx.query).erase === 'true';
    if (!workspaceId.is(id)) throw noWorkspace();
    const before = await directory.findWorkspace(id);
    if (before) noteChange(ctx, { before: presentWorkspace(before) });
    // First of all: without it nothing is deleted, and it can be asked for again.
    if (erase) await eraseArchive?.({ workspace: id });
    const existed = await directory.deleteWorkspace(id, deletedAt(clock.now(), requestTimes));
    const record = await directory.findDeleted(id);
    // The requests that are still under way are not to be written either.
    if (erase && record) await eraseArchive?.({ workspace: id, until: record.requestsEnd });
    // The history of a deleted workspace can still be erased, because a request under way may have been logged since.
    const erased = erase ? await directory.eraseHistory(id, clock.now()) : undefined;
    const isNews = erased && (erased.logEntries + erased.ledgerRows > 0 || record?.isErased === false);
    if (!existed && !isNews) throw noWorkspace();
    ctx.body = {
      id,
      object: 'workspace',
      deleted: true,
      ...(erased ? { erased: presentErased(erased, record?.requestsEnd ?? clock.now()) } : {}),
    } satisfies DeletedWorkspace;
  });
}

function addUserRoutes(router: Router, { eraseUser, eraseArchive }: DirectoryParts): void {
  router.delete('/workspaces/:id/users/:user', async (ctx) => {
    const { id: workspace = '', user = '' } = ctx.params;
    await eraseArchive?.({ workspace, endUser: user });
    const logEntries = await eraseUser(workspace, user);
    ctx.body = {
      object: 'erasure',
      workspace,
      log_entries: logEntries,
      archive: eraseArchive ? 'scheduled' : 'none',
    } satisfies ErasedUser;
  });
}

function presentErased({ logEntries, ledgerRows }: Erased, freeAt: number) {
  return { log_entries: logEntries, ledger_rows: ledgerRows, id_free_at: iso(freeAt) };
}

/** The id of a deleted workspace is given to another one when nothing is left of the first (docs/adr/0032). */
async function freeId({ directory, clock, tokens, isErasing }: DirectoryParts, id: string): Promise<void> {
  const record = await directory.findDeleted(id);
  if (!record || (await directory.findWorkspace(id))) return;
  const refuse = (why: string, retryAfterMs?: number) => {
    const message = `A workspace with this id was deleted on ${iso(record.deleted)}. ${why}`;
    throw new GatewayError('conflict', message, {
      param: 'id',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  };
  if (!record.isErased)
    refuse(
      `Its log and spend are under this id. Use another id, or erase them: DELETE /workspaces/${id}?erase=true.`,
    );
  const left = record.requestsEnd - clock.now();
  if (left > 0)
    refuse(`Its last requests may still end. The id is free at ${iso(record.requestsEnd)}.`, left);
  const token = (await tokens.list()).find(({ token }) => token.grant.workspaces?.includes(id))?.token;
  if (token) refuse(`The admin token ${token.name} (${token.id}) is still for it. Revoke that first.`);
  if (await isErasing(id)) refuse('A worker is still erasing it from PostgreSQL. Try again soon.', 5_000);
  await directory.freeId(id, clock.now());
}
