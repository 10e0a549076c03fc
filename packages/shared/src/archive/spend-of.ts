/** What rows of `requests` add to `spend`. They are added when they are written, and moved when their tags are erased. */

/** The columns that tell rows of spend apart. */
export const SPEND_GROUP = 'quarter, workspace, key_id, route, provider, model, tags';
export const SPEND_SUMS = [
  ...['requests', 'cost', 'input', 'cached_input', 'cache_write', 'output', 'unknown', 'estimated'],
] as const;

/** A SELECT with the columns of `spend`: the call that served each request, and the calls whose bill nobody knows. */
export function spendOf(rows: string): string {
  return `
SELECT ${SPEND_GROUP}, ${SPEND_SUMS.map((column) => `sum(${column}) AS ${column}`).join(', ')} FROM (
  ${linesOf(rows)}
) AS lines GROUP BY ${SPEND_GROUP}`;
}

/** The same before it is summed, with the end user, whom `spend` does not have. */
export function linesOf(rows: string): string {
  return `SELECT date_bin('15 minutes', settled_at, 'epoch') AS quarter, workspace, key_id, route, provider,
    provider_model AS model, tags, end_user, 1 AS requests, cost, input, coalesce(cached_input, 0) AS cached_input,
    coalesce(cache_write, 0) + coalesce(cache_write_1h, 0) AS cache_write, output, 0 AS unknown, 0 AS estimated
  FROM ${rows} WHERE input IS NOT NULL
  UNION ALL
  SELECT date_bin('15 minutes', settled_at, 'epoch'), workspace, key_id, route,
    coalesce(a->>'provider', provider), coalesce(a->>'model', provider_model), tags, end_user,
    0, 0, 0, 0, 0, 0, 1, (a->>'estimate')::bigint
  FROM ${rows}, jsonb_array_elements(details->'attempts') a WHERE a ? 'estimate'`;
}
