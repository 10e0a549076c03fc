import type { PresentedSpend, Spend, SpendField, SpendSums } from '@sluice/shared/admin-api';

export const GROUPS = [
  ['workspace', 'Workspace'],
  ['key', 'Key'],
  ['route', 'Route'],
  ['model', 'Model'],
  ['provider', 'Provider'],
  ['end_user', 'End user'],
  ['tag', 'Tag'],
  ['day', 'Day'],
  ['month', 'Month'],
] as const;
export type Group = (typeof GROUPS)[number][0];

/** A sum by something. `tag` is the name of the tag, when the sum is by one. */
export interface Grouping {
  by: Group;
  tag: string;
}

const MAX_SERIES = 6;
const OTHER_COLOUR = 7;
const DAY_MS = 86_400_000;

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

/** A route, a key and an end user mean something only beside their workspace. */
export function fieldsOf({ by, tag }: Grouping): SpendField[] {
  if (by === 'route' || by === 'key' || by === 'end_user') return ['workspace', by];
  if (by !== 'tag') return [by];
  return tag === '' ? [] : [`tag:${tag}`];
}

export function nameOf(row: PresentedSpend, grouping: Grouping): string {
  const missing =
    grouping.by === 'tag'
      ? `without ${grouping.tag}`
      : grouping.by === 'end_user'
        ? 'no end user'
        : 'direct model ids';
  return fieldsOf(grouping)
    .map((field) => row[field] ?? missing)
    .join(' / ');
}

/** Summed over the days, most costly first. */
export function groupRows(data: readonly PresentedSpend[], grouping: Grouping): GroupRow[] {
  const groups = new Map<string, GroupRow>();
  for (const row of data) {
    const name = nameOf(row, grouping);
    const sum = groups.get(name) ?? { ...blank(), name, cost: 0, estimated: 0 };
    groups.set(name, sum);
    add(sum, row);
  }
  return [...groups.values()].sort((a, b) => b.cost - a.cost);
}

/** The sum of the groups that have no row of their own. Undefined: each has one. */
export function sumOthers({ others }: Spend): GroupRow | undefined {
  if (others.length === 0) return undefined;
  const rest: GroupRow = { ...blank(), name: '', cost: 0, estimated: 0 };
  for (const row of others) add(rest, row);
  return rest;
}

function add(sum: GroupRow, row: PresentedSpend): void {
  sum.cost += Number(row.cost_usd);
  sum.estimated += Number(row.estimated_usd);
  for (const field of FIELDS) sum[field] += row[field];
}

/** The series of the chart: the groups that cost most, by day or month, and one for the others. */
export function toSeries(spend: Spend, grouping: Grouping, period: 'day' | 'month') {
  const periods = periodsBetween(spend.from, spend.to, period);
  // A sum by day or month is a single series.
  const isOne = grouping.by === 'day' || grouping.by === 'month';
  const seriesOf = (row: PresentedSpend) => (isOne ? 'Spend' : nameOf(row, grouping));
  const names = isOne ? ['Spend'] : groupRows(spend.data, grouping).map(({ name }) => name);
  const shown = names.slice(0, names.length > MAX_SERIES + 1 ? MAX_SERIES : MAX_SERIES + 1);
  const costs = new Map<string, number>();
  const addCost = (row: PresentedSpend, name: string) => {
    const key = `${row[period]} ${name}`;
    costs.set(key, (costs.get(key) ?? 0) + Number(row.cost_usd));
  };
  for (const row of spend.data) addCost(row, shown.includes(seriesOf(row)) ? seriesOf(row) : '');
  for (const row of spend.others) addCost(row, '');
  const labels = [...shown, ...(!isOne && spend.groups > shown.length ? [''] : [])];
  return {
    times: periods.map((each) => Date.parse(each) / 1000),
    series: labels.map((name) => ({
      label: name === '' ? 'all others' : name,
      values: periods.map((each) => costs.get(`${each} ${name}`) ?? 0),
    })),
    colours: labels.map((name, i) => (name === '' ? OTHER_COLOUR : i + 1)),
  };
}

/** Every day such as `2026-11-15`, or every month such as `2026-11`. */
function periodsBetween(from: string, to: string, period: 'day' | 'month'): string[] {
  const found = new Set<string>();
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY_MS)
    found.add(new Date(time).toISOString().slice(0, period === 'day' ? 10 : 7));
  return [...found];
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
