/**
 * Picks what serves a request by the shard of its workspace. In a cell of one shard nothing is picked, and a request takes no
 * other way than without shards.
 */
import { isLeaving } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import { isRedisAway, isRedisFull } from '@sluice/shared/redis/away';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { Next, ParameterizedContext } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { Homes } from '../cell/homes.js';
import type { Authenticated } from './authenticate.js';
import { hungUp } from './report-errors.js';

type Serve<State> = (ctx: ParameterizedContext<State>, next: Next) => unknown;
/** The last middleware of a route. */
type Last<State> = (ctx: ParameterizedContext<State>) => Promise<void>;

const nobody = async () => {};

const RETRY_AFTER_MS = 1_000;

/** `all`: the routes of each shard, in their order. The returned function takes one of them. */
export function createByShard<Routes>(
  all: readonly Routes[],
  directory: Pick<DirectoryCache, 'knownWorkspace' | 'findWorkspace'>,
  homes: Pick<Homes, 'wait'>,
) {
  return <State extends Authenticated>(routeOf: (routes: Routes) => Serve<State>): Last<State> => {
    const serving = all.map(routeOf);
    const [only] = serving;
    if (only && serving.length === 1) return only as Last<State>;
    return async (ctx) => {
      const { workspace: id } = ctx.state.key;
      let workspace = directory.knownWorkspace(id) ?? (await directory.findWorkspace(id));
      for (;;) {
        if (workspace && isLeaving(workspace)) {
          workspace = await homes.wait(id);
          if (ctx.res.destroyed) throw hungUp();
        }
        const shard = workspace?.shard ?? FIRST_SHARD;
        const serve = serving[shard];
        if (!serve) throw away(`This process does not know shard ${shard} of the gateway.`);
        try {
          await serve(ctx, nobody);
          return;
        } catch (error) {
          // Nothing was begun for the request, and its body is in memory.
          if (error instanceof WorkspaceMoved) {
            workspace = await homes.wait(id);
            if (ctx.res.destroyed) throw hungUp();
            continue;
          }
          if (isRedisAway(error) && !isRedisFull(error))
            throw away(`Shard ${shard} of the gateway cannot be reached.`);
          throw error;
        }
      }
    };
  };
}

function away(message: string): GatewayError {
  return new GatewayError('service_unavailable', message, {
    retryAfterMs: RETRY_AFTER_MS,
    reason: 'redis_away',
  });
}
