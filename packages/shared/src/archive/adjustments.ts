/**
 * Adjustments of the ledger by provider, day and model: what invoices have settled, and what lines of batches have cost whose
 * requests had left them. Beside them are the latest reconciliations. They are in Redis, and a worker copies the adjustments to
 * PostgreSQL. An adjustment is never changed; a later invoice adds another one.
 */
import type { Redis } from 'ioredis';
import type { ExplanationCode, Reconciliation, ReconciliationSummary } from '../contract/reconciliation.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

/** How many reconciliations are kept, each of a provider and month. */
const MOST_KEPT = 48;
/** A script with more arguments would block Redis. A month has 31 days, and few accounts use so many models. */
export const MAX_ROWS = 2_000;

/** Who has made the adjustments that follow from the results of batches. */
export const BY_RESULTS = 'provider batch';

export interface AdjustmentRecord {
  id: string;
  /** Whole picodollars as a text; negative when the provider bills less. */
  amount: string;
  at: number;
  by: string | null;
  why: ExplanationCode[];
}

export interface StoredAdjustment extends AdjustmentRecord {
  provider: string;
  day: string;
  model: string;
}

/** The row of an adjustment. */
export interface AdjustedRow {
  provider: string;
  day: string;
  model: string;
}

/** What is added to a row, with the text that the row has now. */
export interface NewAdjustment extends AdjustedRow {
  before: string;
  record: AdjustmentRecord;
}

const adjustScript = loadScript<
  0 | 1,
  {
    monthsKey: string;
    adjustmentsKey: string;
    summariesKey: string;
    resultKey: string;
    oldestKey: string | undefined;
  },
  { month: string; name: string; summary: string; result: string; oldest: string; rows: readonly string[] }
>(import.meta.url, 'adjust');

const adjustOnceScript = loadScript<
  0 | 1,
  { monthsKey: string; adjustmentsKey: string },
  { month: string; row: string; id: string; record: string }
>(import.meta.url, 'adjust-once');

export class Adjustments {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
  ) {}

  /** Of whole months, `2026-10`. */
  async ofMonths(months: readonly string[]): Promise<StoredAdjustment[]> {
    const found = await Promise.all(months.map((month) => this.rowsOf(month)));
    return found.flatMap((rows) => [...rows].flatMap(([name, text]) => recordsOf(name, text)));
  }

  /** Name of a row → its text, for `keep`. */
  async rowsOf(month: string): Promise<Map<string, string>> {
    return new Map(Object.entries(await this.redis.hgetall(this.names.adjustments(month))));
  }

  /** Month → how often it was adjusted. A worker copies the months whose count has changed. */
  async counts(): Promise<Record<string, string>> {
    return this.redis.hgetall(this.names.adjustedMonths);
  }

  /** False when somebody else has adjusted one of the rows meanwhile. Then nothing was kept. */
  async keep(result: Reconciliation, made: readonly NewAdjustment[]): Promise<boolean> {
    const { provider, month } = result;
    const { adjustedMonths, adjustments, reconciliation, reconciliations } = this.names;
    const oldest = await this.#oldest(provider, month);
    const keys = {
      monthsKey: adjustedMonths,
      adjustmentsKey: adjustments(month),
      summariesKey: reconciliations,
      resultKey: reconciliation(provider, month),
      oldestKey: oldest && reconciliation(oldest.provider, oldest.month),
    };
    const rows = made.flatMap(({ before, record, ...row }) => [
      rowName(row),
      before,
      JSON.stringify([...(before === '' ? [] : (JSON.parse(before) as AdjustmentRecord[])), record]),
    ]);
    const { data: _, ...summary } = result;
    const args = {
      month,
      name: nameOf(result),
      summary: JSON.stringify(summary),
      result: JSON.stringify(result),
      oldest: oldest ? nameOf(oldest) : '',
      rows,
    };
    return (await adjustScript(this.redis, keys, args)) === 1;
  }

  /** Adds one without a reconciliation. One of this id that the row has already is not added again. */
  async add(row: AdjustedRow, record: AdjustmentRecord): Promise<void> {
    const month = row.day.slice(0, 7);
    const { adjustedMonths, adjustments } = this.names;
    const keys = { monthsKey: adjustedMonths, adjustmentsKey: adjustments(month) };
    const args = { month, row: rowName(row), id: record.id, record: JSON.stringify(record) };
    await adjustOnceScript(this.redis, keys, args);
  }

  /** The newest first, without their rows. */
  async summaries(): Promise<ReconciliationSummary[]> {
    const texts = await this.redis.hvals(this.names.reconciliations);
    const all = texts.map((text) => JSON.parse(text) as ReconciliationSummary);
    return all.sort((a, b) => (a.made_at < b.made_at ? 1 : -1));
  }

  async reconciliation(provider: string, month: string): Promise<Reconciliation | undefined> {
    const text = await this.redis.get(this.names.reconciliation(provider, month));
    return text === null ? undefined : (JSON.parse(text) as Reconciliation);
  }

  /** The one to forget when there is no room for another. */
  async #oldest(provider: string, month: string): Promise<ReconciliationSummary | undefined> {
    const kept = await this.summaries();
    const isKnown = kept.some((each) => each.provider === provider && each.month === month);
    return isKnown || kept.length < MOST_KEPT ? undefined : kept.at(-1);
  }
}

function nameOf({ provider, month }: ReconciliationSummary): string {
  return `${provider} ${month}`;
}

export function rowName({ provider, day, model }: AdjustedRow): string {
  return JSON.stringify([provider, day, model]);
}

export function recordsOf(name: string, text: string): StoredAdjustment[] {
  const [provider = '', day = '', model = ''] = JSON.parse(name) as string[];
  return (JSON.parse(text) as AdjustmentRecord[]).map((record) => ({ ...record, provider, day, model }));
}
