import { parseExactly, toPlainNumber } from '@sluice/shared/json/exact';
import { findExcess } from '@sluice/shared/json/measure';

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function toText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const MAX_ID_LENGTH = 128;

/** An id that the provider made. What is longer is none, because ids are kept. */
export function toId(value: unknown): string | undefined {
  const id = toText(value);
  return id !== undefined && id.length <= MAX_ID_LENGTH ? id : undefined;
}

/** Ten times any context there is; beyond it a count is nonsense, and the price of it no exact integer. */
const MAX_TOKENS = 1e8;

/** A token count. What is not one (missing, negative, fractional, absurd) counts as none, never as a negative. */
export function toTokenCount(value: unknown): number {
  const count = toNaturalNumber(value);
  return count <= MAX_TOKENS ? count : 0;
}

/** Zero for anything that is not an exact positive integer. */
export function toNaturalNumber(value: unknown): number {
  const number = toPlainNumber(value);
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : 0;
}

export function toUnixSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Serialising this depth does not overflow the stack. A short text cannot nest so deep. */
const ANSWER_LIMITS = { depth: 1_000, keys: Number.POSITIVE_INFINITY, elements: Number.POSITIVE_INFINITY };
const SHORT = 2 * ANSWER_LIMITS.depth;

/** Undefined: the text is not usable JSON. Numbers stay as they are written, unless it is parsed in another way. */
export function parseAnswer(text: string, parse: (text: string) => unknown = parseExactly): unknown {
  if (text.length > SHORT && findExcess(text, ANSWER_LIMITS)) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The `cost` of a usage. OpenRouter and others have a number there, Perplexity an object with the sum. */
export function toReportedUsd({ cost }: JsonObject): number | undefined {
  if (cost === undefined) return undefined;
  const sum = toPlainNumber(isObject(cost) && 'total_cost' in cost ? cost.total_cost : cost);
  return typeof sum === 'number' ? sum : undefined;
}
