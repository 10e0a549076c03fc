/**
 * Sets the lines of an invoice beside the ledger, by day and model, and says what explains each difference. The ledger has no
 * names of tiers and no times of calls, so that an explanation is what fits best: the amounts are exact, the words are likely.
 */
import { familyOf } from '@sluice/shared/registry/model-family';
import { explain } from './explain.js';
import type { Invoice, InvoiceLine } from './invoice.js';
import { type LedgerRow, type ListPrices, type Row, roundingOf, type Theirs } from './rows.js';

/** No provider has as many. They are only named. */
const MOST_TIERS = 8;
const MAX_TIER = 64;

export interface Comparison {
  rows: Row[];
  missingDays: string[];
}

export interface Sides {
  invoice: Invoice;
  ledger: readonly LedgerRow[];
  /** Name of the row → what was added. */
  adjusted: ReadonlyMap<string, bigint>;
  prices: ListPrices;
}

export function compare({ invoice, ledger, adjusted, prices }: Sides): Comparison {
  const rows = new Map<string, Row>();
  const rowOf = (day: string, model: string): Row => {
    const key = keyOf(day, model);
    const row = rows.get(key) ?? newRow(day, model, adjusted.get(key) ?? 0n);
    rows.set(key, row);
    return row;
  };
  for (const each of ledger) {
    const row = rowOf(each.day, familyOf(each.model));
    row.ours = row.ours ? merged(row.ours, each) : each;
  }
  for (const line of invoice.lines) {
    const row = rowOf(line.day, line.model === undefined ? line.item : familyOf(line.model));
    row.theirs = withLine(row.theirs, line);
  }
  for (const [key] of adjusted) {
    const [day = '', model = ''] = JSON.parse(key) as string[];
    rowOf(day, model);
  }
  const all = [...rows.values()].sort((a, b) => compareText(a.day, b.day) || compareText(a.model, b.model));
  for (const row of all) weigh(row);
  const missingDays = [...new Set(all.filter(({ ours }) => ours && ours.cost > 0n).map(({ day }) => day))]
    .filter((day) => !invoice.days.has(day))
    .sort();
  explain(all, { missingDays: new Set(missingDays), prices });
  return { rows: all, missingDays };
}

export function keyOf(day: string, model: string): string {
  return JSON.stringify([day, model]);
}

function newRow(day: string, model: string, adjusted: bigint): Row {
  const nothing = {
    ours: undefined,
    theirs: undefined,
    drift: 0n,
    status: 'matched',
    explanations: [],
  } as const;
  return { day, model, adjusted, ...nothing, explanations: [] };
}

function weigh(row: Row): void {
  const { ours, theirs, adjusted } = row;
  row.drift = (theirs?.cost ?? 0n) - (ours?.cost ?? 0n) - adjusted;
  const size = row.drift < 0n ? -row.drift : row.drift;
  const isMatched = size <= roundingOf(row);
  if (isMatched) row.status = 'matched';
  else if (theirs && !ours) row.status = 'theirs_only';
  else if (!theirs) row.status = 'ours_only';
  else row.status = 'drift';
}

/** A model may be in the ledger by several names: with its date, and without. */
function merged(a: LedgerRow, b: LedgerRow): LedgerRow {
  return {
    ...a,
    requests: a.requests + b.requests,
    cost: a.cost + b.cost,
    unknown: a.unknown + b.unknown,
    estimated: a.estimated + b.estimated,
    tokens: {
      input: a.tokens.input + b.tokens.input,
      cached: a.tokens.cached + b.tokens.cached,
      write: a.tokens.write + b.tokens.write,
      output: a.tokens.output + b.tokens.output,
    },
  };
}

function withLine(theirs: Theirs | undefined, line: InvoiceLine): Theirs {
  const { kind, quantity, picodollars, rounding, tier, model } = line;
  const before = theirs ?? {
    cost: 0n,
    costs: {},
    tokens: {},
    tiers: new Set<string>(),
    rounding: 0n,
    isModel: model !== undefined,
  };
  const costs = kind ? { ...before.costs, [kind]: (before.costs[kind] ?? 0n) + picodollars } : before.costs;
  if (tier !== undefined && before.tiers.size < MOST_TIERS) before.tiers.add(tier.slice(0, MAX_TIER));
  const counts = before.tokens && kind !== undefined && quantity !== undefined;
  return {
    cost: before.cost + picodollars,
    costs,
    // One line without a count, and the counts do not say what was billed.
    tokens: counts ? { ...before.tokens, [kind]: (before.tokens?.[kind] ?? 0) + quantity } : undefined,
    tiers: before.tiers,
    rounding: before.rounding + rounding,
    isModel: before.isModel || model !== undefined,
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
