/** What was spent, summed from the ledger. Sums are exact: whole picodollars as bigint. */
import type { Redis } from 'ioredis';
import type { KeyNames } from './key-names.js';

export const SPEND_FIELDS = ['workspace', 'route', 'provider', 'model', 'day'] as const;
export type SpendField = (typeof SPEND_FIELDS)[number];

const COLUMNS = ['requests', 'cost', 'input', 'cached_input', 'cache_write', 'output'] as const;
type Column = (typeof COLUMNS)[number];

const DAY_MS = 86_400_000;
const DAYS_AT_ONCE = 50;

export interface SpendQuestion {
  /** `2026-11-15`, UTC; both days are included. */
  from: string;
  to: string;
  by: readonly SpendField[];
  filter: Partial<Record<SpendField, string>>;
}

export interface SpendRow {
  /** The fields it was summed by; route is null for direct model ids. */
  group: Partial<Record<SpendField, string | null>>;
  sums: Record<Column, bigint>;
}

/** By day where asked for, then the dearest first. */
export async function readSpend(
  redis: Redis,
  names: KeyNames,
  { from, to, by, filter }: SpendQuestion,
): Promise<{ rows: SpendRow[]; total: SpendRow['sums'] }> {
  const rows = new Map<string, SpendRow>();
  const total = noSums();
  const days = daysBetween(from, to);
  for (let i = 0; i < days.length; i += DAYS_AT_ONCE) {
    const some = days.slice(i, i + DAYS_AT_ONCE);
    const ledgers = await Promise.all(some.map((day) => redis.hgetall(names.ledger(day))));
    ledgers.forEach((ledger, j) => {
      for (const [field, value] of Object.entries(ledger)) {
        const parsed = parseField(field, some[j] ?? '');
        if (
          !parsed ||
          SPEND_FIELDS.some((name) => filter[name] !== undefined && filter[name] !== parsed.row[name])
        )
          continue;
        const group = Object.fromEntries(by.map((name) => [name, parsed.row[name]]));
        const key = JSON.stringify(group);
        const row = rows.get(key) ?? { group, sums: noSums() };
        rows.set(key, row);
        row.sums[parsed.column] += BigInt(value);
        total[parsed.column] += BigInt(value);
      }
    });
  }
  return { rows: [...rows.values()].sort(compareRows), total };
}

/** `["workspace","route","provider","model"]:column` */
function parseField(
  field: string,
  day: string,
): { row: Record<SpendField, string | null>; column: Column } | undefined {
  const split = field.lastIndexOf(':');
  const column = COLUMNS.find((name) => name === field.slice(split + 1));
  if (!column) return undefined;
  const [workspace, route, provider, model] = JSON.parse(field.slice(0, split)) as (string | null)[];
  return {
    row: {
      workspace: workspace ?? '',
      route: route ?? null,
      provider: provider ?? '',
      model: model ?? '',
      day,
    },
    column,
  };
}

function noSums(): SpendRow['sums'] {
  return { requests: 0n, cost: 0n, input: 0n, cached_input: 0n, cache_write: 0n, output: 0n };
}

function compareRows(a: SpendRow, b: SpendRow): number {
  if (a.group.day !== b.group.day) return (a.group.day ?? '') < (b.group.day ?? '') ? -1 : 1;
  if (a.sums.cost !== b.sums.cost) return a.sums.cost > b.sums.cost ? -1 : 1;
  return JSON.stringify(a.group) < JSON.stringify(b.group) ? -1 : 1;
}

export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY_MS)
    days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}
