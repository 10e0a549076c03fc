/**
 * Estimates what a line of a batch will cost, for a quote. The other estimates are upper bounds for one call. Here many lines
 * are added up, so what they usually take counts: the answers of the route in the last days, where there were enough.
 */
import { type ChatRequest, leavesTier } from '../chat.js';
import type { EndsWithin, PricedEntry } from './call-estimate.js';
import {
  choicesOf,
  estimateCall,
  mostImageTokens,
  outputLimitOf,
  promptTokens,
  usualImageTokens,
} from './call-estimate.js';
import { costOf, type PriceUsed, priceFor } from './price.js';
import type { PromptSize } from './prompt-size.js';

/** English has about four bytes a token. Text of other languages and code has more tokens, but hardly twice as many. */
const USUAL_BYTES_PER_TOKEN = 4;
const LEAST_USUAL_BYTES_PER_TOKEN = 2;
/** Text with fewer spaces is base64, numbers or a script without spaces. A token of it may be a single byte. */
const BYTES_PER_SPACE = 20;
/** A large image has so many times the tokens of a usual one at most. */
const LARGE_IMAGE = 3;
/** Most answers are shorter when nobody limits them. */
const USUAL_OUTPUT_TOKENS = 1_000;
/** So many answers tell how long the answers of a route are. */
export const ENOUGH_ANSWERS = 100;
/** Where only the mean is known, 99 of 100 answers are shorter than this many times it. */
const LONG_BY_MEAN = 5;

/** What the requests of a route to a model have taken. */
export interface PastUse {
  requests: number;
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
  /** 99 of 100 answers were no longer than this. Undefined: only the sums are known. */
  longAnswer?: number | undefined;
}

/** A line, which is measured once for all entries. */
export interface MeasuredLine {
  request: ChatRequest;
  body: string;
  prompt: PromptSize;
}

/** Tokens, and picodollars. */
export interface LineEstimate {
  input: number;
  output: number;
  isMeasured: boolean;
  expected: number;
  /** The same at flex, where the model has it and the request leaves the tier to the gateway. */
  flex: number;
  /** The cost of the prompt if it has twice the usual tokens, none of them from a cache. A file fills the context. */
  mostInput: number;
  /** The cost of a long answer among those of the route, and of the longest one that may come. */
  longOutput: number;
  longestOutput: number;
  bound: number;
  /** The prompt is most likely longer than the model's context. */
  isTooLong: boolean;
}

/** A sentence that begins with the model's name says why there is no estimate. */
export function estimateLine(
  priced: PricedEntry,
  { request, body, prompt }: MeasuredLine,
  past: PastUse | undefined,
  ends: EndsWithin,
): LineEstimate | string {
  const { entry, kind, facts } = priced;
  const bound = estimateCall(priced, request, prompt, 'strict', { ends });
  if (typeof bound === 'string') return bound;
  if (!facts) return `${entry.provider}/${entry.model} has no known price`;
  const given = prompt.embeds?.tokens ?? 0;
  const image = usualImageTokens(entry.model);
  const largeImage = Math.min(LARGE_IMAGE * image, mostImageTokens(kind, entry.model));
  const usualInput = Math.ceil(prompt.bytes / USUAL_BYTES_PER_TOKEN) + prompt.images * image + given;
  // How many tokens a file has does not follow from its bytes.
  const input = prompt.opaque ? Math.min(usualInput, facts.context_window ?? usualInput) : usualInput;
  const bytesPerToken = hasSpaces(body, prompt.bytes) ? LEAST_USUAL_BYTES_PER_TOKEN : 1;
  const mostInput = prompt.opaque
    ? promptTokens(prompt, kind, entry.model, facts, 'strict')
    : Math.ceil(prompt.bytes / bytesPerToken) + prompt.images * largeImage + given;
  const longest = prompt.embeds ? 0 : outputLimitOf(request, kind, entry, facts);
  const isMeasured = past !== undefined && past.requests >= ENOUGH_ANSWERS;
  const usual = isMeasured ? Math.ceil(past.output / past.requests) : USUAL_OUTPUT_TOKENS;
  const long = isMeasured ? (past.longAnswer ?? LONG_BY_MEAN * usual) : longest;
  const choices = choicesOf(request, kind);
  const output = Math.min(longest, choices * usual);
  const tier = typeof request.service_tier === 'string' ? request.service_tier : undefined;
  const cached = isMeasured ? Math.floor(input * cachedShare(past)) : 0;
  const none = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
  const priceOf = (tokens: number): PriceUsed =>
    priceFor(facts, { ...none, input: tokens }, tier, ends.from) ??
    (priceFor(facts, { ...none, input: tokens }, undefined, ends.from) as PriceUsed);
  const price = priceOf(input);
  const usage = { ...none, input: input - cached, cachedInput: cached, output };
  const flex = leavesTier(request) && !prompt.embeds ? priceFor(facts, usage, 'flex', ends.from) : undefined;
  const dearest = priceOf(mostInput);
  const written =
    kind === 'anthropic' && !prompt.caches ? 0 : Math.max(dearest.cacheWrite, dearest.cacheWrite1h);
  return {
    input,
    output,
    isMeasured,
    expected: costOf(price, usage),
    flex: costOf(flex ?? price, usage),
    mostInput: (dearest.request ?? 0) + mostInput * Math.max(dearest.input, written),
    longOutput: Math.min(longest, choices * long) * dearest.output,
    longestOutput: Math.min(longest * dearest.output, bound),
    bound,
    // The context of embeddings is that of one input.
    isTooLong: input / (prompt.embeds?.inputs ?? 1) > (facts.context_window ?? input),
  };
}

/**
 * What 99 of 100 sets of lines cost at most, in picodollars. The answers of one batch may all be long ones of the route, and of
 * few lines each counts.
 */
export function mostOf({
  lines,
  mostInput,
  longOutput,
  longestOutput,
  bound,
}: Pick<LineEstimate, 'mostInput' | 'longOutput' | 'longestOutput' | 'bound'> & { lines: number }): number {
  const output = Math.ceil(longOutput * (1 + 1 / Math.sqrt(Math.max(1, lines))));
  return Math.min(mostInput + Math.min(output, longestOutput), bound);
}

function cachedShare({ input, cachedInput, cacheWrite }: PastUse): number {
  const all = input + cachedInput + cacheWrite;
  return all === 0 ? 0 : cachedInput / all;
}

function hasSpaces(text: string, bytes: number): boolean {
  const enough = bytes / BYTES_PER_SPACE;
  let found = 0;
  for (let at = text.indexOf(' '); at >= 0 && found < enough; at = text.indexOf(' ', at + 1)) found++;
  return found >= enough;
}
