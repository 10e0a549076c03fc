/**
 * The labels `workspace` and `route`. A gateway may have thousands of workspaces, and every label value is a series that
 * Prometheus keeps. So only some workspaces have a label of their own: those that sent the most lately, and then those that send
 * first while there is room. All others are `other`. A process never takes a label back, so that its counters only grow.
 */
import { dayOf } from '../calendar.js';
import type { ShardKeys } from '../redis/shard.js';
import type { KnownWorkspaces } from './directory-watch.js';
import { OTHER, routeLabel } from './labels.js';

const DAY_MS = 86_400_000;
const MAX_ROUTES = 50;

export class WorkspaceLabels {
  /** Workspace → the routes that have a label. */
  readonly #given = new Map<string, Set<string>>();

  constructor(private readonly most: number) {}

  /** Gives labels in this order, as long as there are any. */
  give(workspaces: Iterable<string>): void {
    for (const workspace of workspaces) {
      if (this.#given.size >= this.most) return;
      if (!this.#given.has(workspace)) this.#given.set(workspace, new Set());
    }
  }

  /** Workspaces beyond those that have a label get one when they send a request, if there are any left. */
  of(workspace: string, route: string | null): { workspace: string; route: string } {
    if (!this.#given.has(workspace)) this.give([workspace]);
    const routes = this.#given.get(workspace);
    if (!routes) return { workspace: OTHER, route: OTHER };
    if (route !== null && !routes.has(route)) {
      if (routes.size >= MAX_ROUTES) return { workspace, route: OTHER };
      routes.add(route);
    }
    return { workspace, route: routeLabel(route) };
  }

  /** Gives labels to what is configured. The busiest come first where there are more workspaces than labels. */
  async learn(directory: KnownWorkspaces, readBusiest: () => Promise<string[]>): Promise<void> {
    const known = new Set(directory.map(({ id }) => id));
    if (known.size <= this.most) this.give(known);
    // Later changes of the directory give no label: what is left is for those who send.
    else if (this.#given.size === 0) this.give((await readBusiest()).filter((id) => known.has(id)));
  }

  /** The workspaces that have a label already. */
  labelled(directory: KnownWorkspaces): KnownWorkspaces {
    return directory.filter(({ id }) => this.#given.has(id));
  }
}

/** The workspaces with the most requests of yesterday and today, the busiest first, by the ledger. */
export async function readBusiest(shards: readonly ShardKeys[], now: number): Promise<string[]> {
  const requests = new Map<string, number>();
  // A shard that is away has no say. The labels need not be the best ones.
  for (const { redis, names } of shards.filter((shard) => shard.redis.status === 'ready')) {
    for (const day of [dayOf(now), dayOf(now - DAY_MS)]) {
      for (const [field, count] of Object.entries(await redis.hgetall(names.ledger(day)))) {
        if (!field.endsWith(':requests')) continue;
        const [workspace] = JSON.parse(field.slice(0, field.lastIndexOf(':'))) as [string];
        requests.set(workspace, (requests.get(workspace) ?? 0) + Number(count));
      }
    }
  }
  return [...requests].sort(([, a], [, b]) => b - a).map(([workspace]) => workspace);
}
