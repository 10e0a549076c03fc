/**
 * Writes entries of the log and adds them to the spend in one statement, completely or not at all. An entry whose request is
 * stored already is neither written nor added again, so writing is repeatable. PostgreSQL parses the entries, so a worker
 * only passes their texts on.
 */
import { type Database, inTransaction, sqlState } from '@sluice/shared/archive/database';
import { ERASURE_LOCK } from '@sluice/shared/archive/erasures';
import { spendOf } from '@sluice/shared/archive/spend-of';

export interface StreamEntry {
  /** In the log's stream: `<ms>-<sequence>`. */
  id: string;
  /** JSON of a `LogEntry`. */
  text: string;
}

/** The fields of a log entry that have their own columns, and the attempts. The rest is in `details`. */
const COLUMNS =
  '{id,acceptedAt,settledAt,workspace,keyId,route,model,status,code,reason,queueMs,user,tags,served,attempts}';

/** An attempt as `details` has it. What the row says already, and what nearly every attempt has, is left out. */
const SLIM_ATTEMPT = `a
  - CASE WHEN (a->>'provider', a->>'model') = (provider, provider_model) THEN '{provider,model}'::text[] ELSE '{}' END
  - CASE WHEN a @> '{"outcome":"ok","status":200}' THEN '{outcome,status}'::text[] ELSE '{}' END`;

const writeStatement = (schema: string) => `
WITH batch AS MATERIALIZED (
  SELECT b.ms, b.seq, b.entry, e.*,
    timestamptz 'epoch' + e."acceptedAt" * interval '1 millisecond' AS accepted_at,
    timestamptz 'epoch' + e."settledAt" * interval '1 millisecond' AS settled_at,
    coalesce(e.served->>'provider', e.attempts->-1->>'provider') AS provider,
    coalesce(e.served->>'model', e.attempts->-1->>'model') AS provider_model,
    coalesce((e.served->>'cost')::bigint, 0) AS cost, e.served->'usage' AS usage,
    nullif(e.served->'price', 'null') AS price, hashtextextended(nullif(e.served->'price', 'null')::text, 0) AS price_id,
    EXISTS (SELECT FROM ${schema}.erasures x WHERE x.workspace = e.workspace
      AND x.erased_at >= timestamptz 'epoch' + e."settledAt" * interval '1 millisecond'
      AND x.end_user = encode(sha256(convert_to(e."user", 'UTF8')), 'hex')) AS is_forgotten
  FROM jsonb_to_recordset($1::jsonb) AS b(ms bigint, seq bigint, entry jsonb),
    jsonb_to_record(b.entry) AS e(id text, "acceptedAt" double precision, "settledAt" double precision,
      workspace text, "keyId" text, route text, model text, status smallint, code text, reason text,
      "queueMs" double precision, "user" text, tags jsonb, attempts jsonb, served jsonb)
),
known AS (
  -- In one order, so that two writers do not wait for each other.
  INSERT INTO ${schema}.prices SELECT DISTINCT price_id, price FROM batch WHERE price IS NOT NULL ORDER BY 1
  ON CONFLICT DO NOTHING
),
new AS (
  INSERT INTO ${schema}.requests (id, accepted_at, settled_at, logged_ms, logged_seq, workspace, key_id, route, model,
    provider, provider_model, status, code, reason, fallback, duration_ms, queue_ms, cost, end_user, tags, details,
    served_entry, latency_ms, input, cached_input, cache_write, cache_write_1h, output, price_id)
  SELECT id, accepted_at, settled_at, ms, seq, workspace, "keyId", route, model, provider, provider_model,
    status, code, reason,
    CASE WHEN served IS NULL THEN false
      WHEN served ? 'entry' THEN (served->>'entry')::int > 0
      ELSE (served->>'provider', served->>'model') IS DISTINCT FROM (attempts->0->>'provider', attempts->0->>'model') END,
    greatest(0, ("settledAt" - "acceptedAt")::bigint), "queueMs", cost, CASE WHEN NOT is_forgotten THEN "user" END,
    CASE WHEN NOT is_forgotten THEN tags END,
    CASE jsonb_array_length(attempts) WHEN 0 THEN entry - '${COLUMNS}'::text[]
      ELSE (entry - '${COLUMNS}'::text[]) || jsonb_build_object('attempts',
        (SELECT jsonb_agg(${SLIM_ATTEMPT} ORDER BY place) FROM jsonb_array_elements(attempts) WITH ORDINALITY AS x(a, place)))
    END,
    (served->>'entry')::smallint, (served->>'latencyMs')::integer, (usage->>'input')::bigint,
    nullif((usage->>'cachedInput')::bigint, 0), nullif((usage->>'cacheWrite')::bigint, 0),
    nullif((usage->>'cacheWrite1h')::bigint, 0), (usage->>'output')::bigint, price_id
  FROM batch
  WHERE NOT EXISTS (SELECT FROM ${schema}.erasures x WHERE x.workspace = batch.workspace
    AND x.erased_at >= batch.settled_at AND x.end_user IS NULL)
  ON CONFLICT DO NOTHING
  RETURNING *
),
spent AS (INSERT INTO ${schema}.spend ${spendOf('new')})
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

/** Whether the error is about a value or a constraint of a row, or about a value that is too long for an index. */
function isAboutTheData(error: unknown): boolean {
  return /^(?:2[23]|54)/.test(sqlState(error) ?? '');
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
