import type { Router } from '@koa/router';
import type { Shard, WorkspaceMove } from '@sluice/shared/admin-api';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { moveInput, shardChange } from '@sluice/shared/contract/shard';
import { type Directory, isLeaving } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { Middleware } from 'koa';
import { noteChange } from '../access/audit.js';
import { list as toList } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { type Mover, STANDARD_WAIT_MS } from '../moves/mover.js';

export interface ShardFigures {
  waiting: number;
  active: number;
  memoryUsedBytes: number;
}

export interface ShardRouteParts {
  directory: Directory;
  mover: Pick<Mover, 'move' | 'resume' | 'retire'>;
  /** Of each shard, in their order. Undefined for one that is away. */
  readShards(): Promise<(ShardFigures | undefined)[]>;
  requestTimes: Pick<GatewayConfig['request'], 'deadlineMs'>;
  readBody: Middleware;
}

/** /shards, /shards/{shard} and /workspaces/{id}/move */
export function addShardRoutes(
  router: Router,
  { directory, mover, readShards, requestTimes, readBody }: ShardRouteParts,
): void {
  const list = async (): Promise<Shard[]> => {
    const [figures, workspaces, closed] = await Promise.all([
      readShards(),
      directory.listWorkspaces(),
      directory.closedShards(),
    ]);
    return figures.map((each, shard): Shard => {
      const own = workspaces.filter((workspace) => (workspace.shard ?? FIRST_SHARD) === shard);
      return {
        object: 'shard',
        shard,
        up: each !== undefined,
        open: !closed.has(shard),
        workspaces: own.length,
        moving: own.filter(isLeaving).length,
        waiting: each?.waiting ?? null,
        active: each?.active ?? null,
        memory_used_bytes: each?.memoryUsedBytes ?? null,
      };
    });
  };

  router.get('/shards', async (ctx) => {
    ctx.body = toList(await list());
  });

  router.patch('/shards/:shard', readBody, async (ctx) => {
    const { open } = readInput(shardChange, ctx.request.body);
    const before = (await list()).find(({ shard }) => String(shard) === ctx.params.shard);
    if (!before) throw new GatewayError('not_found', 'There is no such shard.');
    noteChange(ctx, { before: { open: before.open }, after: { open } });
    await directory.openShard(before.shard, open);
    ctx.body = { ...before, open } satisfies Shard;
  });

  router.delete('/shards/:shard', async (ctx) => {
    const found = (await list()).find(({ shard }) => String(shard) === ctx.params.shard);
    if (!found) throw new GatewayError('not_found', 'There is no such shard.');
    await mover.retire(found.shard);
    ctx.body = found;
  });

  router.post('/workspaces/:id/move', readBody, async (ctx) => {
    const { id = '' } = ctx.params;
    const { shard: to, wait_seconds: seconds } = readInput(moveInput, ctx.request.body);
    const before = await directory.findWorkspace(id);
    if (!before) throw noWorkspace();
    const from = before.shard ?? FIRST_SHARD;
    noteChange(ctx, { before: { shard: from } });
    const asked = seconds === undefined ? STANDARD_WAIT_MS : seconds * 1_000;
    // No caller is to wait for longer than a request may take.
    const moved = await mover.move(id, to, Math.min(asked, requestTimes.deadlineMs / 2));
    noteChange(ctx, { after: { shard: to } });
    ctx.body = {
      object: 'workspace_move',
      workspace: id,
      from: moved?.from ?? from,
      to,
      held_ms: moved?.heldMs ?? 0,
    } satisfies WorkspaceMove;
  });
}
