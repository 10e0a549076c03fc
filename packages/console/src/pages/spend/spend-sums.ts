import type { PresentedSpend, Spend, SpendSums } from '@sluice/shared/admin-api';
import { count } from '../../format.js';

export const GROUPS = [
  ['workspace', 'Workspace'],
  ['route', 'Route'],
  ['model', 'Model'],
  ['provider', 'Provider'],
] as const;
export type Group = (typeof GROUPS)[number][0];

const MAX_SERIES = 6;
const OTHER_COLOUR = 7;
const DAY_S = 86_400;

const FIELDS = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'unknown_bills',
] as const;

export interface GroupRow extends Record<(typeof FIELDS)[number], number> {
  name: string;
  cost: number;
  /** What calls without a bill may have cost. `cost` does not include it. */
  estimated: number;
}

/** A route's name means something only beside its workspace's. */
export function nameOf(row: PresentedSpend, by: Group): string {
  if (by !== 'route') return row[by] ?? '';
  return `${row.workspace} / ${row.route ?? 'direct model ids'}`;
}

/** Summed over the days, most costly first. */
export function groupRows(data: readonly PresentedSpend[], by: Group): GroupRow[] {
  const groups = new Map<string, GroupRow>();
  for (const row of data) {
    const name = nameOf(row, by);
    const sum = groups.get(name) ?? { ...blank(), name, cost: 0, estimated: 0 };
    groups.set(name, sum);
    add(sum, row);
  }
  return [...groups.values()].sort((a, b) => b.cost - a.cost);
}

/** All rows, the last one for the groups that have none of their own. */
export function withOthers(rows: GroupRow[], { others, groups }: Spend): GroupRow[] {
  if (others.length === 0) return rows;
  const rest: GroupRow = {
    ...blank(),
    name: `${count(groups - rows.length)} others`,
    cost: 0,
    estimated: 0,
  };
  for (const row of others) add(rest, row);
  return [...rows, rest];
}

function add(sum: GroupRow, row: PresentedSpend): void {
  sum.cost += Number(row.cost_usd);
  sum.estimated += Number(row.estimated_usd);
  for (const field of FIELDS) sum[field] += row[field];
}

/** The series of the chart: the groups that cost most, by day, and one for the others. */
export function toDaySeries(spend: Spend, by: Group) {
  const days = daysBetween(spend.from, spend.to);
  const names = groupRows(spend.data, by).map(({ name }) => name);
  const shown = names.slice(0, names.length > MAX_SERIES + 1 ? MAX_SERIES : MAX_SERIES + 1);
  const costs = new Map<string, number>();
  for (const row of spend.data) {
    const name = nameOf(row, by);
    const key = `${row.day} ${shown.includes(name) ? name : ''}`;
    costs.set(key, (costs.get(key) ?? 0) + Number(row.cost_usd));
  }
  for (const { day, cost_usd } of spend.others)
    costs.set(`${day} `, (costs.get(`${day} `) ?? 0) + Number(cost_usd));
  const labels = [...shown, ...(spend.groups > shown.length ? [''] : [])];
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    series: labels.map((name) => ({
      label: name === '' ? `${count(spend.groups - shown.length)} others` : name,
      values: days.map((day) => costs.get(`${day} ${name}`) ?? 0),
    })),
    colours: labels.map((name, i) => (name === '' ? OTHER_COLOUR : i + 1)),
  };
}

export function daysBetween(from: string, to: string): string[] {
  const length = Math.round((Date.parse(to) - Date.parse(from)) / 1000 / DAY_S) + 1;
  return Array.from({ length }, (_, i) =>
    new Date(Date.parse(from) + i * DAY_S * 1000).toISOString().slice(0, 10),
  );
}

export function toCsvRows(rows: readonly PresentedSpend[], by: Group): (string | number)[][] {
  const names: (keyof PresentedSpend)[] = by === 'route' ? ['workspace', 'route'] : [by];
  const columns: (keyof PresentedSpend)[] = ['day', ...names, ...FIELDS, 'cost_usd', 'estimated_usd'];
  // An amount is a number also where it is written as a text.
  const cell = (row: PresentedSpend, column: keyof PresentedSpend) =>
    column === 'cost_usd' || column === 'estimated_usd'
      ? Number(row[column]).toFixed(6)
      : (row[column] ?? '');
  return [columns, ...rows.map((row) => columns.map((column) => cell(row, column)))];
}

function blank(): Pick<SpendSums, (typeof FIELDS)[number]> {
  return {
    requests: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    unknown_bills: 0,
  };
}
