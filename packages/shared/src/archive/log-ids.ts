/**
 * Ids of log entries over all shards. The id of an entry in its shard's stream is `<ms>-<sequence>`, and two shards may have the
 * same one. In the cell the shard is a part of the sequence, so that every entry has its own id, and all are in one order: by
 * time, then by shard. The ids of the first shard stay as they are.
 */
const SHARD = 2 ** 32;

export function idInCell(id: string, shard: number): string {
  if (shard === 0) return id;
  const [ms, sequence] = id.split('-');
  return `${ms}-${shard * SHARD + Number(sequence)}`;
}

/** The id in the shard's stream of the first entry that is not before this one of the cell. */
export function idInShard(id: string, shard: number): string {
  const [ms = '0', text = '0'] = id.split('-');
  const sequence = Number(text);
  const its = Math.floor(sequence / SHARD);
  if (its === shard) return `${ms}-${sequence % SHARD}`;
  return shard > its ? `${ms}-0` : `${Number(ms) + 1}-0`;
}

/** The highest id in the shard's stream that is not after this one of the cell. */
export function lastInShard(id: string, shard: number): string {
  const [ms = '0', text = '0'] = id.split('-');
  const sequence = Number(text);
  const its = Math.floor(sequence / SHARD);
  if (its === shard) return `${ms}-${sequence % SHARD}`;
  const before = shard > its ? Number(ms) - 1 : Number(ms);
  return before < 0 ? '0-0' : `${before}-${SHARD - 1}`;
}
