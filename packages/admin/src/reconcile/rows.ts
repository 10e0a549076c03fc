/** A day and model on both sides. */
import type { ExplanationCode } from '@sluice/shared/contract/reconciliation';
import type { TokenKind } from './invoice.js';

/** Smaller differences are those of our own rounding to whole picodollars, line by line. */
const LEAST_ROUNDING = 1_000_000n;

export type Tokens = Partial<Record<TokenKind, number>>;

/** What the ledger has of a day and model. */
export interface LedgerRow {
  day: string;
  model: string;
  requests: number;
  cost: bigint;
  unknown: number;
  estimated: bigint;
  tokens: Required<Tokens>;
}

/** Picodollars per token by the price list. */
export type ListPrices = (model: string) => Record<TokenKind, number> | undefined;

export interface Theirs {
  cost: bigint;
  /** What each kind of token cost, and how many they were where the file tells it. */
  costs: Partial<Record<TokenKind, bigint>>;
  tokens: Tokens | undefined;
  tiers: Set<string>;
  rounding: bigint;
  /** The row is for a model, and not for another service. */
  isModel: boolean;
}

export interface Row {
  day: string;
  model: string;
  ours: LedgerRow | undefined;
  theirs: Theirs | undefined;
  /** What earlier invoices have added. */
  adjusted: bigint;
  drift: bigint;
  status: 'matched' | 'drift' | 'ours_only' | 'theirs_only';
  explanations: Explained[];
}

export interface Explained {
  code: ExplanationCode;
  amount: bigint;
  /** What the words of the code do not say, such as two prices. */
  more?: string;
}

export function roundingOf({ theirs }: Row): bigint {
  const rounding = theirs?.rounding ?? 0n;
  return rounding > LEAST_ROUNDING ? rounding : LEAST_ROUNDING;
}
