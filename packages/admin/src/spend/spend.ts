/** Sums up the ledger. Sums are exact: whole picodollars as bigint. */

import { SPEND_FIELDS, type SpendField } from '@sluice/shared/contract/spend';
import { askShards, type ShardKeys } from '@sluice/shared/redis/shard';

/** `unknown`: calls whose bill nobody knows. `estimated`: their estimated cost, which `cost` does not include. */
export const COLUMNS = [
  'requests',
  'cost',
  'input',
  'cached_input',
  'cache_write',
  'output',
  'unknown',
  'estimated',
] as const;
export type Column = (typeof COLUMNS)[number];

const DAY_MS = 86_400_000;
/** After this many fields of a ledger, callers of the process get a turn. */
const FIELDS_AT_ONCE = 1_000;

/** `tags`: all tags of a request, as JSON. */
export type GroupField = SpendField | 'tags';

export interface SpendQuestion {
  /** `2026-11-15`; both days are included. */
  from: string;
  to: string;
  /** Whose days and months they are. */
  timeZone: string;
  by: readonly GroupField[];
  filter: Partial<Record<SpendField, string>>;
  /** Only what has all of these. */
  tags?: readonly (readonly [name: string, value: string])[];
  /** Only these workspaces. */
  workspaces?: ReadonlySet<string>;
  /** Only the dearest groups over all days. The sum of the others is in `others`. */
  top?: number;
}

export interface SpendRow {
  /** The fields that the row was summed by. The route is null for direct model ids. */
  group: Partial<Record<GroupField, string | null>>;
  sums: Record<Column, bigint>;
}

export interface SpendResult {
  rows: SpendRow[];
  total: SpendRow['sums'];
  /** One row per day if days were asked for. Empty when every group has a row. */
  others: SpendRow[];
  /** The number of groups over all days. */
  groups: number;
  /** False: a shard is away, or PostgreSQL has not got everything that Redis has no more. */
  isComplete: boolean;
}

/** From the ledger in Redis, which knows days of UTC, and no keys and no tags. By day where asked for, then the dearest first. */
export async function readSpend(shards: readonly ShardKeys[], question: SpendQuestion): Promise<SpendResult> {
  const { by, top } = question;
  const fields = by.filter((field) => !isPeriod(field));
  const byDay = fields.length < by.length;
  const read = (groupOf: GroupOf, days: boolean) => sumLedger(shards, question, groupOf, days);
  if (top === undefined) {
    const { rows, total, groups, isComplete } = await read((row) => pick(row, fields), byDay);
    return { rows, total, others: [], groups, isComplete };
  }
  // The ledger is read twice, because a row for every group and day could take too much memory.
  const whole = await read((row) => pick(row, fields), false);
  const shown = new Set(whole.rows.slice(0, top).map(({ group }) => keyOf(group, fields)));
  const isShown = (row: Group) => shown.has(keyOf(row, fields));
  const { rows, total } = await read((row) => (isShown(row) ? pick(row, fields) : {}), byDay);
  return {
    rows: rows.filter(({ group }) => isShown(group)),
    total,
    others: rows.filter(({ group }) => !isShown(group)),
    groups: whole.groups,
    isComplete: whole.isComplete,
  };
}

type Group = SpendRow['group'];
/** The group of a ledger row, without the day. */
type GroupOf = (row: Group) => Group;

async function sumLedger(
  shards: readonly ShardKeys[],
  { from, to, by, filter, workspaces }: SpendQuestion,
  groupOf: GroupOf,
  byDay: boolean,
): Promise<Pick<SpendResult, 'rows' | 'total' | 'groups' | 'isComplete'>> {
  const periods = by.filter(isPeriod);
  const periodOf = (day: string): Group =>
    Object.fromEntries(periods.map((field) => [field, field === 'day' ? day : day.slice(0, 7)]));
  const rows = new Map<string, SpendRow>();
  const total = noSums();
  let isComplete = true;
  /** Name of a ledger row → group. A name comes once for each column, and again on other days. */
  const groups = new Map<string, { key: string; group: Group } | undefined>();
  const toGroup = (name: string) => {
    const row = parseName(name);
    if (SPEND_FIELDS.some((field) => filter[field] !== undefined && filter[field] !== row[field]))
      return undefined;
    if (workspaces && !workspaces.has(row.workspace ?? '')) return undefined;
    const group = groupOf(row);
    return { key: JSON.stringify(group), group };
  };
  const findRow = (name: string, day: string) => {
    if (!groups.has(name)) groups.set(name, toGroup(name));
    const found = groups.get(name);
    if (!found) return undefined;
    const group = byDay ? { ...found.group, ...periodOf(day) } : found.group;
    const key = byDay ? JSON.stringify(group) : found.key;
    const row = rows.get(key) ?? { group, sums: noSums() };
    rows.set(key, row);
    return row;
  };
  for (const day of daysBetween(from, to)) {
    // The reply stays a list, because building an object of many thousand fields takes longer than summing it.
    const { answers, late } = await askShards(
      shards,
      async ({ redis, names }) => (await redis.call('HGETALL', names.ledger(day))) as string[],
    );
    if (late.length > 0) isComplete = false;
    const ledger = answers.length === 1 ? (answers[0] ?? []) : answers.flat();
    const known = new Map<string, SpendRow | undefined>();
    for (let i = 0; i < ledger.length; i += 2) {
      if (i % FIELDS_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
      const field = ledger[i] ?? '';
      const split = field.lastIndexOf(':');
      const column = COLUMNS.find((name) => name === field.slice(split + 1));
      if (!column) continue;
      const name = field.slice(0, split);
      if (!known.has(name)) known.set(name, findRow(name, day));
      const row = known.get(name);
      if (!row) continue;
      const amount = BigInt(ledger[i + 1] ?? 0);
      row.sums[column] += amount;
      total[column] += amount;
    }
  }
  const keys = new Set([...groups.values()].map((found) => found?.key));
  keys.delete(undefined);
  return { rows: [...rows.values()].sort(compareRows), total, groups: keys.size, isComplete };
}

function pick(row: Group, fields: readonly GroupField[]): Group {
  return Object.fromEntries(fields.map((field) => [field, row[field] ?? null]));
}

function keyOf(row: Group, fields: readonly GroupField[]): string {
  return JSON.stringify(pick(row, fields));
}

/** `["workspace","route","provider","model"]`, before the `:column` of a ledger's field. */
function parseName(name: string): Group {
  const [workspace, route, provider, model] = JSON.parse(name) as (string | null)[];
  return { workspace: workspace ?? '', route: route ?? null, provider: provider ?? '', model: model ?? '' };
}

function isPeriod(field: GroupField): field is 'day' | 'month' {
  return field === 'day' || field === 'month';
}

export function addSums(sums: SpendRow['sums'], more: Partial<SpendRow['sums']>): void {
  for (const column of COLUMNS) sums[column] += more[column] ?? 0n;
}

/** Puts all rows of a question in order, adds their sum, and puts those beyond `top` together. */
export function finishSpend(
  all: readonly SpendRow[],
  { by, top }: SpendQuestion,
): Omit<SpendResult, 'isComplete'> {
  const fields = by.filter((field) => !isPeriod(field));
  const total = noSums();
  const whole = new Map<string, bigint>();
  for (const { group, sums } of all) {
    addSums(total, sums);
    const key = keyOf(group, fields);
    whole.set(key, (whole.get(key) ?? 0n) + sums.cost);
  }
  const dearest = [...whole].sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0)).slice(0, top ?? whole.size);
  const shown = new Set(dearest.map(([key]) => key));
  const others = new Map<string, SpendRow>();
  for (const { group, sums } of all) {
    if (shown.has(keyOf(group, fields))) continue;
    const period = pick(group, by.filter(isPeriod));
    const key = JSON.stringify(period);
    const row = others.get(key) ?? { group: period, sums: noSums() };
    others.set(key, row);
    addSums(row.sums, sums);
  }
  return {
    rows: all.filter(({ group }) => shown.has(keyOf(group, fields))).sort(compareRows),
    total,
    others: [...others.values()].sort(compareRows),
    groups: whole.size,
  };
}

export function noSums(): SpendRow['sums'] {
  return {
    requests: 0n,
    cost: 0n,
    input: 0n,
    cached_input: 0n,
    cache_write: 0n,
    output: 0n,
    unknown: 0n,
    estimated: 0n,
  };
}

function compareRows(a: SpendRow, b: SpendRow): number {
  const [aPeriod, bPeriod] = [a, b].map(({ group }) => group.day ?? group.month ?? '');
  if (aPeriod !== bPeriod) return (aPeriod ?? '') < (bPeriod ?? '') ? -1 : 1;
  if (a.sums.cost !== b.sums.cost) return a.sums.cost > b.sums.cost ? -1 : 1;
  return JSON.stringify(a.group) < JSON.stringify(b.group) ? -1 : 1;
}

export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY_MS)
    days.push(new Date(time).toISOString().slice(0, 10));
  return days;
}
