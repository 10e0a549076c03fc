/**
 * What a call costs. Money is whole picodollars (10⁻¹² USD): a price of 1 USD per million tokens is 1,000,000
 * picodollars per token, so every published price is an integer and no cost is ever rounded before it is shown.
 */
import type { TokenUsage } from '../chat.js';
import { bandAt, type TimeBand } from './time-bands.js';

/** Picodollars per token. */
export interface Rates {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  output: number;
}

/** The price of one request, as the request log has it. Price and usage together give the cost again. */
export interface PriceUsed extends Rates {
  /** The registry's id of the model. The called id may have a date in addition. */
  model: string;
  /** Version of the registry. */
  registry: string;
  /** `base` or a service tier. `_above_<tokens>` follows for long prompts, and `_from_<time>` for some hours. */
  tier: string;
  /** Picodollars for each request, in addition to its tokens. Absent: none. */
  request?: number;
}

/** Prices for prompts of more than `above` tokens, by service tier. */
export interface PriceStep {
  above: number;
  base: PriceUsed;
  serviceTiers: ReadonlyMap<string, PriceUsed>;
  /** Tiers whose price for such prompts nobody has published. It is worked out of the others, so it is no price to book. */
  guessedTiers: ReadonlyMap<string, PriceUsed>;
}

/** A model's prices, ascending by `above`. The first is for any prompt. */
export type PriceTable = readonly [PriceStep, ...PriceStep[]];

/** What a model costs, at most hours and at those of its bands. */
export interface Priceable {
  priceTable: PriceTable;
  bandTables?: readonly BandTable[];
}
export interface BandTable {
  band: TimeBand;
  table: PriceTable;
}

const PICODOLLARS_PER_USD = 1_000_000_000_000n;
const PICODOLLARS_PER_MICRODOLLAR = 1_000_000n;

/** Names of the service tier that is billed at the base price. The last one is Groq's. */
export const BASE_TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'standard', 'on_demand']);

/**
 * The price of a call with this usage that ended at this moment. A prompt beyond a long-context threshold reprices the whole request, cached tokens
 * and output too. `serviceTier` is the tier that the response named. The result is undefined if that tier has no price.
 */
export function priceFor(
  facts: Priceable,
  usage: TokenUsage,
  serviceTier?: string,
  at = Date.now(),
): PriceUsed | undefined {
  const step = stepFor(facts, usage, at);
  const ofTier = serviceTier === undefined ? undefined : step.serviceTiers.get(serviceTier);
  if (ofTier) return ofTier;
  return serviceTier === undefined || BASE_TIERS.has(serviceTier) ? step.base : undefined;
}

/** What a call may cost whose price is not known: the guessed price of its tier, or else the dearest for such a prompt. */
export function likelyCostOf(
  facts: Priceable,
  usage: TokenUsage,
  serviceTier?: string,
  at = Date.now(),
): number {
  const { base, serviceTiers, guessedTiers } = stepFor(facts, usage, at);
  const guessed = guessedTiers.get(serviceTier ?? '');
  const prices = guessed ? [guessed] : [base, ...serviceTiers.values(), ...guessedTiers.values()];
  return Math.max(...prices.map((price) => costOf(price, usage)));
}

function stepFor({ priceTable, bandTables }: Priceable, usage: TokenUsage, at: number): PriceStep {
  const prompt = usage.input + usage.cachedInput + usage.cacheWrite + usage.cacheWrite1h;
  const [first, ...longer] = (bandTables && bandAt(bandTables, at)?.table) ?? priceTable;
  return longer.findLast(({ above }) => prompt > above) ?? first;
}

/**
 * Whole picodollars, always a safe integer and never negative, whatever a provider reports. A count that is not
 * a positive number counts as 0, a fraction is cut off, and 2⁵³ - 1 (9,007 USD for one call) is the highest cost.
 *
 * Doubles are exact here. Rounding is monotone, so a product or sum of whole numbers that comes out at or below
 * 2⁵³ - 1 was never rounded. A higher result is cut off.
 */
export function costOf(price: Rates & Pick<PriceUsed, 'request'>, usage: TokenUsage): number {
  const cost =
    whole(price.request ?? 0) +
    whole(usage.input) * whole(price.input) +
    whole(usage.cachedInput) * whole(price.cachedInput) +
    whole(usage.cacheWrite) * whole(price.cacheWrite) +
    whole(usage.cacheWrite1h) * whole(price.cacheWrite1h) +
    whole(usage.output) * whole(price.output);
  return Math.min(cost, Number.MAX_SAFE_INTEGER);
}

function whole(count: number): number {
  return count > 0 ? Math.min(Math.floor(count), Number.MAX_SAFE_INTEGER) : 0;
}

/** Dollars with six decimals. Half a microdollar rounds up (away from zero, should an amount be negative). */
export function formatUsd(picodollars: number | bigint): string {
  const amount = BigInt(picodollars);
  const size = amount < 0n ? -amount : amount;
  const rounded =
    ((size + PICODOLLARS_PER_MICRODOLLAR / 2n) / PICODOLLARS_PER_MICRODOLLAR) * PICODOLLARS_PER_MICRODOLLAR;
  const dollars = rounded / PICODOLLARS_PER_USD;
  const decimals = String((rounded % PICODOLLARS_PER_USD) / PICODOLLARS_PER_MICRODOLLAR).padStart(6, '0');
  return `${amount < 0n && rounded > 0n ? '-' : ''}${dollars}.${decimals}`;
}
