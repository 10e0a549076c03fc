/** Reconciles a provider's account with the ledger: compares, and makes the adjustments that are asked for. */
import {
  type AdjustmentRecord,
  type Adjustments,
  BY_RESULTS,
  MAX_ROWS,
  type NewAdjustment,
  rowName,
  type StoredAdjustment,
} from '@sluice/shared/archive/adjustments';
import { dayOf } from '@sluice/shared/calendar';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import {
  EXPLANATIONS,
  type ReconciledRow,
  type Reconciliation,
} from '@sluice/shared/contract/reconciliation';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { familyOf } from '@sluice/shared/registry/model-family';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { formatUsd } from '@sluice/shared/registry/price';
import { makeRequestId } from '@sluice/shared/request-id';
import { iso } from '../http/present.js';
import { refuse } from '../http/read-input.js';
import { daysOfMonth } from '../spend/local-day.js';
import type { SpendQuestion, SpendResult } from '../spend/spend.js';
import { MOST_PICODOLLARS, MOST_USD } from './amount.js';
import { compare, keyOf } from './compare.js';
import { type Invoice, InvoiceMistake } from './invoice.js';
import { readInvoice } from './read-invoice.js';
import type { Explained, LedgerRow, ListPrices, Row } from './rows.js';

/** More than these in one row are mistakes. */
const MAX_RECORDS = 50;

export interface ReconcileParts {
  clock: Clock;
  adjustments: Adjustments;
  providers: ReadonlyMap<string, ProviderConfig>;
  registry(): ModelRegistry;
  readSpend(question: SpendQuestion): Promise<SpendResult>;
}

export interface ReconcileQuestion {
  provider: string;
  month: string;
  invoice: string;
  settle: boolean;
  /** Who asks. */
  by: string | null;
}

export async function reconcile(
  parts: ReconcileParts,
  { provider, month, invoice: text, settle, by }: ReconcileQuestion,
): Promise<Reconciliation> {
  const { adjustments, clock } = parts;
  const invoice = read(text, month);
  const ledger = await readLedger(parts, provider, month);
  const before = await adjustments.rowsOf(month);
  const adjusted = sumsOf(await adjustments.ofMonths([month]), provider);
  const { rows, missingDays } = compare({ invoice, ledger, adjusted, prices: pricesFor(parts, provider) });
  if (rows.length > MAX_ROWS)
    refuse('invoice', `has more than ${MAX_ROWS} days and models; send a part of the month`);
  if (rows.some(({ drift }) => drift > MOST_PICODOLLARS || drift < -MOST_PICODOLLARS))
    refuse('invoice', `differs by more than ${MOST_USD} USD on a day for a model`);
  const today = dayOf(clock.now());
  const settled = new Map<Row, NewAdjustment>();
  for (const row of settle ? rows : []) {
    if (!isSettled(row, today)) continue;
    const at = { provider, day: row.day, model: row.model };
    const known = before.get(rowName(at)) ?? '';
    const records = known === '' ? [] : (JSON.parse(known) as AdjustmentRecord[]);
    if (records.filter(({ by }) => by !== BY_RESULTS).length >= MAX_RECORDS)
      refuse('settle', `${row.day} ${row.model} was adjusted ${MAX_RECORDS} times already`);
    const why = row.explanations.map(({ code }) => code);
    const record = { id: makeRequestId(), amount: String(row.drift), at: clock.now(), by, why };
    settled.set(row, { ...at, before: known, record });
  }
  const result = present({ provider, month, by, at: clock.now(), invoice, rows, missingDays, settled });
  if (!(await adjustments.keep(result, [...settled.values()])))
    throw new GatewayError('conflict', 'Somebody else has adjusted this month meanwhile; try again.');
  return result;
}

/** Neither what rounding explains, nor days that the file does not have or that are not over. */
function isSettled({ status, day, explanations: [first] }: Row, today: string): boolean {
  return status !== 'matched' && day < today && first?.code !== 'missing_day';
}

function read(text: string, month: string): Invoice {
  try {
    return readInvoice(text, month);
  } catch (error) {
    if (error instanceof InvoiceMistake) refuse('invoice', error.message);
    throw error;
  }
}

async function readLedger(
  { providers, readSpend }: ReconcileParts,
  provider: string,
  month: string,
): Promise<LedgerRow[]> {
  const names = providers.get(provider)?.renamedModels;
  const { rows } = await readSpend({
    ...daysOfMonth(month),
    timeZone: 'UTC',
    by: ['day', 'model'],
    filter: { provider },
  });
  return rows.map(({ group, sums }) => ({
    day: group.day ?? '',
    model: names?.get(group.model ?? '') ?? group.model ?? '',
    requests: Number(sums.requests),
    cost: sums.cost,
    unknown: Number(sums.unknown),
    estimated: sums.estimated,
    tokens: {
      input: Number(sums.input),
      cached: Number(sums.cached_input),
      write: Number(sums.cache_write),
      output: Number(sums.output),
    },
  }));
}

/** Picodollars that were added to each row of the provider. */
function sumsOf(all: readonly StoredAdjustment[], provider: string): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { day, model, amount, ...each } of all) {
    if (each.provider !== provider) continue;
    const key = keyOf(day, model);
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(amount));
  }
  return sums;
}

function pricesFor({ providers, registry }: ReconcileParts, provider: string): ListPrices {
  const list = providers.get(provider)?.prices ?? provider;
  return (model) => {
    const base = registry().find(list, model)?.priceTable[0].base;
    return (
      base && { input: base.input, cached: base.cachedInput, write: base.cacheWrite, output: base.output }
    );
  };
}

interface Compared {
  provider: string;
  month: string;
  by: string | null;
  at: number;
  invoice: Invoice;
  rows: readonly Row[];
  missingDays: string[];
  settled: ReadonlyMap<Row, NewAdjustment>;
}

function present(compared: Compared): Reconciliation {
  const { provider, month, by, at, invoice, rows, missingDays, settled } = compared;
  const sum = (amount: (row: Row) => bigint) => rows.reduce((total, row) => total + amount(row), 0n);
  const count = (status: Row['status']) => rows.filter((row) => row.status === status).length;
  const theirs = sum((row) => row.theirs?.cost ?? 0n);
  const drift = sum((row) => row.drift);
  return {
    object: 'reconciliation',
    provider,
    month,
    format: invoice.format,
    made_at: iso(at),
    made_by: by,
    lines: invoice.lines.length + invoice.doubled.reduce((all, { times }) => all + times - 1, 0),
    outside_month: invoice.outsideMonth,
    missing_days: missingDays,
    doubled: invoice.doubled.map(({ line, times }) => ({
      day: line.day,
      model: line.model === undefined ? line.item : familyOf(line.model),
      usd: formatUsd(line.picodollars),
      times,
    })),
    total: {
      ours_usd: formatUsd(sum((row) => row.ours?.cost ?? 0n)),
      adjusted_usd: formatUsd(sum((row) => row.adjusted)),
      theirs_usd: formatUsd(theirs),
      drift_usd: formatUsd(drift),
      drift_percent: percentOf(drift, theirs),
      matched: count('matched'),
      drift: count('drift'),
      ours_only: count('ours_only'),
      theirs_only: count('theirs_only'),
      settled: settled.size,
      settled_usd: formatUsd(sum((row) => BigInt(settled.get(row)?.record.amount ?? 0))),
    },
    data: rows.map((row) => presentRow(row, settled.get(row))),
  };
}

function presentRow(row: Row, made: NewAdjustment | undefined): ReconciledRow {
  const { day, model, status, ours, theirs, adjusted, drift, explanations } = row;
  return {
    day,
    model,
    status,
    requests: ours?.requests ?? 0,
    ours_usd: formatUsd(ours?.cost ?? 0n),
    adjusted_usd: formatUsd(adjusted),
    theirs_usd: formatUsd(theirs?.cost ?? 0n),
    drift_usd: formatUsd(drift),
    drift_percent: percentOf(drift, theirs?.cost ?? 0n),
    unknown_bills: ours?.unknown ?? 0,
    estimated_usd: formatUsd(ours?.estimated ?? 0n),
    explanations: explanations.map(presentExplanation),
    settled_usd: made ? formatUsd(BigInt(made.record.amount)) : null,
  };
}

function presentExplanation({ code, amount, more }: Explained): ReconciledRow['explanations'][number] {
  const text = EXPLANATIONS[code];
  return { code, usd: formatUsd(amount), text: more === undefined ? text : `${text.slice(0, -1)}: ${more}.` };
}

/** With two decimals. */
function percentOf(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Math.round((Number(part) / Number(whole)) * 10_000) / 100;
}
