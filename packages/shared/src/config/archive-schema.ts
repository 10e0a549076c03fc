import type { ConfigReader, TextRule } from './reader.js';
import type { ArchiveConfig } from './types.js';

const KEEP: TextRule = {
  pattern: /^(?:[1-9]\d{0,4}d|forever)$/,
  allowed: 'a number of days such as 90d, or forever',
};

/** `archive` of gateway.yaml. */
export function readArchive(reader: ConfigReader, value: unknown): ArchiveConfig {
  const archive = reader.fields(value ?? {}, 'archive', ['keep_requests', 'keep_spend', 'max_redis_bytes']);
  const days = (name: 'keep_requests' | 'keep_spend', standard: string): number | undefined => {
    const text = reader.text(archive?.[name] ?? standard, `archive.${name}`, KEEP);
    return text === 'forever' ? undefined : Number(text.slice(0, -1));
  };
  return {
    keepRequestsDays: days('keep_requests', '400d'),
    keepSpendDays: days('keep_spend', 'forever'),
    maxRedisBytes: reader.number(archive?.max_redis_bytes ?? 268_435_456, 'archive.max_redis_bytes', {
      min: 1024,
      max: 1_099_511_627_776,
    }),
  };
}
