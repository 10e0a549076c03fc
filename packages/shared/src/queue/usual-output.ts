/**
 * How long the answers of a route usually are. A budget in `expected` mode reserves by this, because the most that a call may
 * write is far more than what it does.
 *
 * Workers count the lengths of answers in memory and add them to Redis every second or two, and api processes read them again every
 * few seconds. So no request waits for this. Only requests of workspaces with such a budget are counted.
 */
import type { Redis } from 'ioredis';
import type { UsualOutput } from '../contract/budget.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { USUAL_OUTPUT_TOKENS } from '../registry/call-estimate.js';
import type { ChatJob } from './job.js';

/** Lengths are counted by steps of about 40 %: 16, 23, 32, 45, … up to three million tokens. */
const STEPS = Array.from({ length: 36 }, (_, i) => Math.round(16 * 2 ** (i / 2)));
/** So many of a hundred answers are not longer. */
const SHARE = 0.95;
/** Fewer answers say nothing. */
const LEAST_ANSWERS = 20;
/** Beyond these, half of the older ones is forgotten. */
const MOST_ANSWERS = 1_000;
/** Of a workspace. Further routes are not learned. */
const MOST_ROUTES = 256;
const KEPT_MS = 30 * 86_400_000;
/** Workspaces of this process whose counts are not in Redis yet, or are known here. */
const MOST_WORKSPACES = 1_000;
const READ_EVERY_MS = 5_000;

const learnScript = loadScript<
  number,
  { key: string },
  { mostRoutes: number; mostAnswers: number; keptMs: number; samples: string }
>(import.meta.url, 'learn-output');

function keyOf(names: ShardNames, workspace: string): string {
  return names.money(workspace, 'usual');
}

/** Counts in a worker process. */
export class OutputTally {
  readonly #waiting = new Map<string, Map<string, number[]>>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** `output`: the tokens of the answer. */
  count({ workspace, route, learns }: Pick<ChatJob, 'workspace' | 'route' | 'learns'>, output: number): void {
    if (learns === undefined || route === null) return;
    let routes = this.#waiting.get(workspace);
    if (!routes) {
      if (this.#waiting.size >= MOST_WORKSPACES) return;
      routes = new Map();
      this.#waiting.set(workspace, routes);
    }
    const counts = routes.get(route) ?? STEPS.map(() => 0);
    if (!routes.has(route) && routes.size >= MOST_ROUTES) return;
    routes.set(route, counts);
    // An answer that was cut off would have been longer. How much longer, nobody knows.
    const length = learns > 0 && output >= learns ? Math.max(output, USUAL_OUTPUT_TOKENS) : output;
    const at = STEPS.findIndex((most) => length <= most);
    const step = at === -1 ? STEPS.length - 1 : at;
    counts[step] = (counts[step] ?? 0) + 1;
  }

  /** What Redis does not take now is not learned. */
  async write(): Promise<void> {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [workspace, routes] of waiting) {
      const samples = JSON.stringify(Object.fromEntries(routes));
      const bounds = { mostRoutes: MOST_ROUTES, mostAnswers: MOST_ANSWERS, keptMs: KEPT_MS };
      await learnScript(this.redis, { key: keyOf(this.names, workspace) }, { ...bounds, samples });
    }
  }
}

/** What an api process knows. */
export class UsualOutputs {
  readonly #known = new Map<string, { readAt: number; routes: ReadonlyMap<string, number> }>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** The tokens that most answers of the route stay under. Undefined: not known, or not yet. */
  of(workspace: string, route: string | null): number | undefined {
    if (route === null) return undefined;
    const known = this.#known.get(workspace);
    const now = performance.now();
    if (!known || now - known.readAt > READ_EVERY_MS) {
      const routes = known?.routes ?? new Map();
      if (!known && this.#known.size >= MOST_WORKSPACES) this.#known.clear();
      this.#known.set(workspace, { readAt: now, routes });
      // While Redis is away, what was known holds.
      this.#read(workspace).catch(() => {});
    }
    return known?.routes.get(route);
  }

  async #read(workspace: string): Promise<void> {
    const usual = await readUsualOutputs(this.redis, this.names, workspace);
    const routes = new Map(usual.map(({ route, output_tokens }) => [route, output_tokens]));
    this.#known.set(workspace, { readAt: performance.now(), routes });
  }
}

/** What has been learned about the routes of a workspace. */
export async function readUsualOutputs(
  redis: Redis,
  names: ShardNames,
  workspace: string,
): Promise<UsualOutput[]> {
  const stored = await redis.hgetall(keyOf(names, workspace));
  return Object.entries(stored).flatMap(([route, text]): UsualOutput[] => {
    const counts = JSON.parse(text) as number[];
    const answers = counts.reduce((sum, count) => sum + count, 0);
    if (answers < LEAST_ANSWERS) return [];
    let below = 0;
    const step = counts.findIndex((count) => {
      below += count;
      return below >= answers * SHARE;
    });
    return [{ route, answers, output_tokens: STEPS[step] ?? 0 }];
  });
}
