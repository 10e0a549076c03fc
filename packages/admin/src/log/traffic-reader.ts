/**
 * The traffic of the latest hours: what Redis still has from the index of the log, and what it has no more summed up by
 * PostgreSQL. The oldest entry of the index separates the two.
 */
import { idInCell, idInShard } from '@sluice/shared/archive/log-ids';
import { readArchiveState } from '@sluice/shared/archive/state';
import type { ShardKeys } from '@sluice/shared/redis/shard';
import { type ArchiveReader, Conditions } from './archive-reader.js';
import type { Boundary, CellLog } from './cell-log.js';
import { hash } from './log-index.js';
import { compareIds } from './log-order.js';
import { STEP_SQL, Traffic } from './traffic.js';

/** More groups than these would take too long to pass on. */
const MAX_GROUPS = 200_000;

export interface TrafficPeriod {
  since: number;
  until: number;
  bucketMs: number;
  buckets: number;
  /** The workspaces that the asker may see. Undefined: all. */
  workspaces: ReadonlySet<string> | undefined;
}

export class TrafficReader {
  constructor(
    private readonly log: CellLog,
    private readonly archive: ArchiveReader | undefined,
  ) {}

  /** `begins`: before this moment nothing is counted, in ms. */
  async read(period: TrafficPeriod): Promise<{ traffic: Traffic; begins: number | undefined }> {
    const { since, until, bucketMs, buckets, workspaces } = period;
    const traffic = new Traffic(since, bucketMs, buckets);
    const hashes = workspaces && new Set([...workspaces].map(hash));
    const { oldest, begins, late } = await this.log.visit(since, (request) => {
      if (request.ms < until && (!hashes || hashes.has(request.workspace))) traffic.add(request);
    });
    if (begins !== undefined && begins <= since && late.length === 0) return { traffic, begins };
    const isWhole = late.length === 0 && (await this.#addArchived(traffic, period, oldest));
    return { traffic, begins: isWhole ? since : begins };
  }

  /** False when a shard or PostgreSQL is away, or PostgreSQL lacks entries that Redis no longer has. */
  async #addArchived(
    traffic: Traffic,
    period: TrafficPeriod,
    oldest: readonly (string | undefined)[],
  ): Promise<boolean> {
    if (!this.archive) return false;
    try {
      const boundary: string[] = [];
      for (const shard of this.log.shards) {
        const end = await this.#endOfArchived(shard, oldest[shard.id]);
        if (end === undefined) return false;
        boundary[shard.id] = end;
      }
      const { archive } = this;
      return await archive.ask(() => addArchived(archive, traffic, period, boundary));
    } catch {
      // The reader has put the reason into the log of the process.
      return false;
    }
  }

  /** Up to where PostgreSQL is asked for a shard. Undefined when it lacks entries that the index has not got either. */
  async #endOfArchived({ id, redis, names }: ShardKeys, oldest?: string): Promise<string | undefined> {
    const state = await readArchiveState(redis, names);
    if (state.spilled > 0) return undefined;
    const boundary = oldest === undefined ? state.boundary : idInShard(oldest, id);
    // Entries between what PostgreSQL has and what the index has: there are some when PostgreSQL lags behind a large log.
    if (compareIds(state.boundary, boundary) < 0) {
      const range = [state.boundary, `(${boundary}`] as const;
      const between = await redis.xrange(names.requestLog, ...range, 'COUNT', 1);
      if (between.length > 0) return undefined;
    }
    return idInCell(boundary, id);
  }
}

const COUNT = `coalesce((details->>'count')::bigint, 1)`;

/** Entries that differ in nothing that is counted. */
interface Group {
  bucket: number;
  workspace: string;
  route: string | null;
  provider: string | null;
  model: string | null;
  code: string | null;
  reason: string | null;
  fallback: boolean;
  took: string;
  requests: string;
  entries: string;
}

async function addArchived(
  archive: ArchiveReader,
  traffic: Traffic,
  { since, until, bucketMs, workspaces }: TrafficPeriod,
  boundary: Boundary,
): Promise<boolean> {
  const where = new Conditions();
  where.filter({ since, until, workspaces }, boundary);
  where.values.push(since, bucketMs);
  const [begin, width] = [1, 0].map((back) => `$${where.values.length - back}::float8`);
  const { rows } = await archive.database.query<Group>(
    `SELECT floor((logged_ms - ${begin}) / ${width})::int AS bucket, workspace, route, provider, provider_model AS model,
       code, reason, fallback, ${STEP_SQL} AS step, max(duration_ms) AS took, sum(${COUNT}) AS requests, count(*) AS entries
     FROM ${archive.schema}.requests WHERE ${where.text} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 LIMIT ${MAX_GROUPS + 1}`,
    where.values,
  );
  if (rows.length > MAX_GROUPS) return false;
  for (const row of rows)
    traffic.add(
      {
        ms: since + (row.bucket + 0.5) * bucketMs,
        tookMs: Number(row.took),
        count: Number(row.requests),
        served: row.code === null,
        fallback: row.fallback,
        workspace: hash(row.workspace),
        route: hash(row.route ?? ''),
        provider: hash(row.provider ?? ''),
        called: hash(row.model ?? ''),
        code: hash(row.code ?? ''),
        reason: hash(row.reason ?? ''),
      },
      Number(row.entries),
    );
  return true;
}
