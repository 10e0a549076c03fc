/**
 * Writes entries of the log and adds them to the spend in one statement, completely or not at all. An entry whose request is
 * stored already is neither written nor added again, so writing is repeatable. PostgreSQL parses the entries, so a worker
 * only passes their texts on.
 */
import { type Database, inTransaction, sqlState } from '@sluice/shared/archive/database';
import { ERASURE_LOCK } from '@sluice/shared/archive/erasures';

export interface StreamEntry {
  /** In the log's stream: `<ms>-<sequence>`. */
  id: string;
  /** JSON of a `LogEntry`. */
  text: string;
}

/** The fields of a log entry that have their own columns. The rest is in `details`. */
const COLUMNS = '{id,acceptedAt,settledAt,workspace,keyId,route,model,status,code,reason,queueMs,user,tags}';

const writeStatement = (schema: string) => `
WITH batch AS MATERIALIZED (
  SELECT b.ms, b.seq, b.entry, e.*,
    timestamptz 'epoch' + e."acceptedAt" * interval '1 millisecond' AS accepted_at,
    timestamptz 'epoch' + e."settledAt" * interval '1 millisecond' AS settled_at,
    coalesce((e.served->>'cost')::bigint, 0) AS cost,
    EXISTS (SELECT FROM ${schema}.erasures x WHERE x.workspace = e.workspace
      AND x.erased_at >= timestamptz 'epoch' + e."settledAt" * interval '1 millisecond'
      AND x.end_user = encode(sha256(convert_to(e."user", 'UTF8')), 'hex')) AS is_forgotten
  FROM jsonb_to_recordset($1::jsonb) AS b(ms bigint, seq bigint, entry jsonb),
    jsonb_to_record(b.entry) AS e(id text, "acceptedAt" double precision, "settledAt" double precision,
      workspace text, "keyId" text, route text, model text, status smallint, code text, reason text,
      "queueMs" double precision, "user" text, tags jsonb, attempts jsonb, served jsonb)
),
new AS (
  INSERT INTO ${schema}.requests (id, accepted_at, settled_at, logged_ms, logged_seq, workspace, key_id, route, model,
    provider, provider_model, status, code, reason, fallback, duration_ms, queue_ms, cost, end_user, tags, details)
  SELECT id, accepted_at, settled_at, ms, seq, workspace, "keyId", route, model,
    coalesce(served->>'provider', attempts->-1->>'provider'), coalesce(served->>'model', attempts->-1->>'model'),
    status, code, reason,
    CASE WHEN served IS NULL THEN false
      WHEN served ? 'entry' THEN (served->>'entry')::int > 0
      ELSE (served->>'provider', served->>'model') IS DISTINCT FROM (attempts->0->>'provider', attempts->0->>'model') END,
    greatest(0, ("settledAt" - "acceptedAt")::bigint), "queueMs", cost, CASE WHEN NOT is_forgotten THEN "user" END,
    CASE WHEN NOT is_forgotten THEN tags END, entry - '${COLUMNS}'::text[]
  FROM batch
  WHERE NOT EXISTS (SELECT FROM ${schema}.erasures x WHERE x.workspace = batch.workspace
    AND x.erased_at >= batch.settled_at AND x.end_user IS NULL)
  ON CONFLICT DO NOTHING
  RETURNING logged_ms, logged_seq
),
lines AS (
  SELECT ms, seq, settled_at, workspace, "keyId", route, CASE WHEN NOT is_forgotten THEN tags END AS tags,
    served->>'provider' AS provider, served->>'model' AS model,
    1 AS requests, cost, (served->'usage'->>'input')::bigint AS input,
    (served->'usage'->>'cachedInput')::bigint AS cached_input,
    (served->'usage'->>'cacheWrite')::bigint + (served->'usage'->>'cacheWrite1h')::bigint AS cache_write,
    (served->'usage'->>'output')::bigint AS output, 0 AS unknown, 0 AS estimated
  FROM batch WHERE served IS NOT NULL
  UNION ALL
  SELECT ms, seq, settled_at, workspace, "keyId", route, CASE WHEN NOT is_forgotten THEN tags END,
    a->>'provider', a->>'model',
    0, 0, 0, 0, 0, 0, 1, (a->>'estimate')::bigint
  FROM batch, jsonb_array_elements(attempts) a WHERE a ? 'estimate'
),
spent AS (
  INSERT INTO ${schema}.spend
  SELECT date_bin('15 minutes', settled_at, 'epoch'), workspace, "keyId", route, provider, model, tags,
    sum(requests), sum(cost), sum(input), sum(cached_input), sum(cache_write), sum(output), sum(unknown), sum(estimated)
  FROM lines JOIN new ON ms = logged_ms AND seq = logged_seq
  GROUP BY 1, 2, 3, 4, 5, 6, 7
)
SELECT count(*)::int AS written FROM new`;

export class EntryWriter {
  readonly #statement: string;

  constructor(
    private readonly database: Database,
    private readonly schema: string,
    private readonly onRefused: (problem: string) => void,
  ) {
    this.#statement = writeStatement(schema);
  }

  /** Returns how many entries were new. Throws when the database is away. Then nothing was written, or everything. */
  async write(entries: readonly StreamEntry[]): Promise<number> {
    try {
      return await this.#insert(entries);
    } catch (error) {
      if (!isAboutTheData(error)) throw error;
      // PostgreSQL refuses NUL and halves of surrogate pairs, which JSON may have as escapes.
      const clean = entries.map(({ id, text }) => ({ id, text: cleanText(text) }));
      let written = 0;
      for (const entry of clean) written += await this.#insertOrSetAside(entry);
      return written;
    }
  }

  #insert(entries: readonly StreamEntry[]): Promise<number> {
    return inTransaction(this.database, async (connection) => {
      // The lock is taken before the statement, so that an erasure waits for writers that have not seen it.
      await connection.query('SELECT pg_advisory_xact_lock_shared($1)', [ERASURE_LOCK]);
      const { rows } = await connection.query<{ written: number }>(this.#statement, [toJson(entries)]);
      return rows[0]?.written ?? 0;
    });
  }

  async #insertOrSetAside(entry: StreamEntry): Promise<number> {
    try {
      return await this.#insert([entry]);
    } catch (error) {
      if (!isAboutTheData(error)) throw error;
      const problem = String(error);
      await this.database.query(
        `INSERT INTO ${this.schema}.refused_entries (problem, entry) VALUES ($1, $2)`,
        [problem, entry.text],
      );
      this.onRefused(problem);
      return 0;
    }
  }
}

export function toJson(entries: readonly StreamEntry[]): string {
  const items = entries.map(({ id, text }) => {
    const split = id.indexOf('-');
    return `{"ms":${id.slice(0, split)},"seq":${id.slice(split + 1)},"entry":${text}}`;
  });
  return `[${items.join(',')}]`;
}

/** Whether the error is about a value or a constraint of a row. */
function isAboutTheData(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '');
}

function cleanText(text: string): string {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(/\0|[\ud800-\udfff]/gu, '\ufffd');
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), clean(item)]));
  };
  try {
    return JSON.stringify(clean(JSON.parse(text)));
  } catch {
    return text;
  }
}
