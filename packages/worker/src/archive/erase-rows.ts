/** Erases rows of the archive, within a transaction. Each function returns how many requests it concerned. */
import type { Connection } from '@sluice/shared/archive/database';
import { SPEND_GROUP, SPEND_SUMS, spendOf } from '@sluice/shared/archive/spend-of';

export async function eraseWorkspace(
  connection: Connection,
  schema: string,
  workspace: string,
  erasure: string,
): Promise<number> {
  const erasedAt = `(SELECT erased_at FROM ${schema}.erasures WHERE id = $2)`;
  const values = [workspace, erasure];
  const { rowCount } = await connection.query(
    `DELETE FROM ${schema}.requests WHERE workspace = $1 AND settled_at <= ${erasedAt}`,
    values,
  );
  // Requests of a new workspace of this id may share their quarter of an hour with erased ones. What they spent stays.
  await connection.query(
    `WITH erased AS (DELETE FROM ${schema}.spend WHERE workspace = $1 AND quarter <= ${erasedAt}),
     younger AS MATERIALIZED (
       SELECT * FROM ${schema}.requests WHERE workspace = $1 AND settled_at > ${erasedAt}
         AND settled_at < ${erasedAt} + interval '15 minutes'
     )
     INSERT INTO ${schema}.spend SELECT * FROM (${spendOf('younger')}) AS spent WHERE quarter <= ${erasedAt}`,
    values,
  );
  return rowCount ?? 0;
}

/**
 * The requests of an end user stay without the user and the tags, because what they cost was paid. What they added to rows
 * of spend with their tags moves to rows without tags, so that every sum over all tags stays the same. A row that nothing
 * is left of goes.
 */
export async function eraseUser(
  connection: Connection,
  schema: string,
  workspace: string,
  userDigest: string,
  erasure: string,
): Promise<number> {
  const isSame = `(s.quarter, s.workspace, s.key_id, s.provider, s.model, s.tags)
    = (m.quarter, m.workspace, m.key_id, m.provider, m.model, m.tags) AND s.route IS NOT DISTINCT FROM m.route`;
  const rest = SPEND_SUMS.map((column) => `sum(s.${column}) - m.${column}`);
  const { rows } = await connection.query<{ erased: number }>(
    `WITH meant AS MATERIALIZED (
       SELECT * FROM ${schema}.requests WHERE workspace = $1
         AND settled_at <= (SELECT erased_at FROM ${schema}.erasures WHERE id = $2)
         AND encode(sha256(convert_to(end_user, 'UTF8')), 'hex') = $3
     ),
     moved AS MATERIALIZED (SELECT * FROM (${spendOf('meant')}) AS spent WHERE tags IS NOT NULL),
     tagged AS (
       DELETE FROM ${schema}.spend s USING moved m WHERE ${isSame} RETURNING s.*
     ),
     others AS (
       INSERT INTO ${schema}.spend
       SELECT ${SPEND_GROUP.replaceAll(/\w+/g, 'm.$&')}, ${rest.join(', ')} FROM tagged s JOIN moved m ON ${isSame}
       GROUP BY ${[...SPEND_GROUP.split(', '), ...SPEND_SUMS].map((column) => `m.${column}`).join(', ')}
       HAVING sum(s.requests) > m.requests OR sum(s.unknown) > m.unknown
     ),
     untagged AS (
       INSERT INTO ${schema}.spend
       SELECT ${SPEND_GROUP.replace('tags', 'NULL::jsonb')}, ${SPEND_SUMS.join(', ')} FROM moved m
       -- Older spend may have been dropped already.
       WHERE EXISTS (SELECT FROM tagged s WHERE ${isSame})
     ),
     erased AS (
       UPDATE ${schema}.requests r SET end_user = NULL, tags = NULL FROM meant
       WHERE r.id = meant.id AND r.accepted_at = meant.accepted_at RETURNING 1
     )
     SELECT count(*)::int AS erased FROM erased`,
    [workspace, erasure, userDigest],
  );
  return rows[0]?.erased ?? 0;
}
