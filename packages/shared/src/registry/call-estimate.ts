/**
 * Estimates the cost of a call whose bill is not known: to reserve enough of a budget, and to book a call that got no
 * answer. docs/adr/0011-budgets-that-hold.md says why each figure is an upper bound.
 */
import { ANTHROPIC_DEFAULT_MAX_TOKENS, type ChatRequest } from '../chat.js';
import type { BudgetMode } from '../contract/limits.js';
import type { ChainEntry } from '../contract/route.js';
import { shownField, unknownFieldOf } from './known-fields.js';
import type { ModelFacts } from './model-registry.js';
import { BASE_TIERS, type PriceTable, type PriceUsed } from './price.js';
import type { PromptSize } from './prompt-size.js';
import { bandsWithin } from './time-bands.js';

/** A token of text is at least one byte, in every vocabulary that is built from bytes. */
const LEAST_BYTES_PER_TOKEN = 1;
/** English has about four bytes a token; other languages and code have fewer. */
const USUAL_BYTES_PER_TOKEN = 3;
/** Tokens that a provider may add by itself: instructions about tools, schemas and roles. */
const MOST_TOKENS_ADDED = 1_000;
/** Tokens that stand before and behind an input that is embedded. */
const MOST_TOKENS_ADDED_TO_INPUT = 4;
/** The most tokens of one image. Providers scale large images down first. */
const MOST_IMAGE_TOKENS = { openai: 25_000, anthropic: 5_000 };
/** This model counts thirty times the tokens for an image. The pattern fits fine-tuned and resold versions too. */
const DEAR_IMAGES = /(?:^|[/:])gpt-4o-mini(?![a-z0-9])/;
const DEAR_IMAGE_TOKENS = { usual: 25_500, most: 50_000 };
const USUAL_IMAGE_TOKENS = 1_600;
/** Stands in when the registry has no window for a model. No model on the market reads or writes more in one call. */
const LARGEST_WINDOW = 2_000_000;
/** Most answers are shorter when nobody limits them. */
export const USUAL_OUTPUT_TOKENS = 4_096;

/** A provider's kind and what the registry knows of the entry's model. */
export interface PricedEntry {
  entry: ChainEntry;
  kind: string;
  /** The provider may accept fields that the gateway does not know. */
  takesAnyField: boolean;
  facts: ModelFacts | undefined;
}

/** From when until when a call may end. Without it, at any time. */
export interface EndsWithin {
  from: number;
  until: number;
}

/** What a call has taken at least, as far as its answer shows it. */
export interface TokensTaken {
  input: number;
  output: number;
}

/** What is known beside the request. */
export interface Circumstances {
  ends?: EndsWithin | undefined;
  soFar?: TokensTaken | undefined;
  /** The tokens that most answers of the route stay under. */
  usualOutput?: number | undefined;
}

/** Returns picodollars, or a sentence that begins with the model's name and says why there is no estimate. */
export function estimateCall(
  { entry, kind, takesAnyField, facts }: PricedEntry,
  request: ChatRequest,
  prompt: PromptSize,
  mode: BudgetMode,
  { ends, soFar = { input: 0, output: 0 }, usualOutput }: Circumstances = {},
): number | string {
  const name = `${entry.provider}/${entry.model}`;
  if (!facts) return `${name} has no known price`;
  const unpriced = findUnpriced(request, prompt, kind, facts);
  if (unpriced !== undefined) return `${name} has no known price for ${unpriced}`;
  const field = takesAnyField ? unknownFieldOf(request) : undefined;
  if (field !== undefined) return `${name} has no known price for the field ${shownField(field)}`;
  const tiers = tiersThatMayServe(request, kind, facts, mode);
  if (!tiers) return `${name} has no known price for this service_tier`;

  const input = Math.max(promptTokens(prompt, kind, entry.model, facts, mode), soFar.input);
  const output = prompt.embeds
    ? 0
    : Math.max(outputTokens(request, kind, entry, facts, mode, usualOutput), soFar.output);
  const prices = tablesWithin(facts, ends)
    .flat()
    .filter(({ above }) => input > above || above === 0)
    .flatMap(({ base, serviceTiers, guessedTiers }) => [
      base,
      ...tiers.flatMap((tier) => serviceTiers.get(tier) ?? guessedTiers.get(tier) ?? []),
    ]);
  const costs = prices.map(
    (price) => (price.request ?? 0) + input * promptRate(price, kind, prompt, mode) + output * price.output,
  );
  return Math.min(Math.max(...costs), Number.MAX_SAFE_INTEGER);
}

/** The prices of all hours at which the call may end. */
function tablesWithin({ priceTable, bandTables }: ModelFacts, ends: EndsWithin | undefined): PriceTable[] {
  if (!bandTables) return [priceTable];
  if (!ends) return [priceTable, ...bandTables.map(({ table }) => table)];
  return [...bandsWithin(bandTables, ends.from, ends.until)].map((band) => band?.table ?? priceTable);
}

/** Finds what the registry has no prices for: audio, tools of the provider, and searches except by search models. */
function findUnpriced(
  request: ChatRequest,
  prompt: PromptSize,
  kind: string,
  { fee_per_request: fee }: ModelFacts,
): string | undefined {
  if (kind === 'anthropic') return undefined;
  if (prompt.audio) return 'audio';
  if ((request.web_search_options ?? null) !== null && fee === undefined) return 'web search';
  const { tools } = request;
  const isHosted = (tool: unknown) => {
    const type = typeof tool === 'object' && tool !== null && 'type' in tool ? tool.type : undefined;
    return type !== undefined && type !== 'function' && type !== 'custom';
  };
  return Array.isArray(tools) && tools.some(isHosted) ? 'tools that the provider runs' : undefined;
}

/**
 * The tiers that may serve the request, beside the base price. Undefined when the registry has no price for the tier that
 * the request names. A request with no tier, or `auto`, gets the tier of the provider's account, which only the provider
 * knows. The gateway never asks Anthropic for a tier that costs more.
 */
function tiersThatMayServe(
  { service_tier: asked }: ChatRequest,
  kind: string,
  { priceTable: [{ serviceTiers }] }: ModelFacts,
  mode: BudgetMode,
): string[] | undefined {
  if (kind === 'anthropic') return [];
  if (typeof asked !== 'string' || asked === 'auto') return mode === 'strict' ? [...serviceTiers.keys()] : [];
  if (BASE_TIERS.has(asked)) return [];
  return serviceTiers.has(asked) ? [asked] : undefined;
}

export function promptTokens(
  prompt: PromptSize,
  kind: string,
  model: string,
  { context_window: window }: ModelFacts,
  mode: BudgetMode,
): number {
  const strict = mode === 'strict';
  if (strict && prompt.opaque) return window ?? LARGEST_WINDOW;
  const text = Math.ceil(prompt.bytes / (strict ? LEAST_BYTES_PER_TOKEN : USUAL_BYTES_PER_TOKEN));
  // The window is that of one input here.
  if (prompt.embeds)
    return text + prompt.embeds.tokens + (strict ? prompt.embeds.inputs * MOST_TOKENS_ADDED_TO_INPUT : 0);
  const images = prompt.images * (strict ? mostImageTokens(kind, model) : usualImageTokens(model));
  // The provider refuses a prompt that exceeds the model's window, so it costs nothing.
  return Math.min(text + images + (strict ? MOST_TOKENS_ADDED : 0), window ?? Number.POSITIVE_INFINITY);
}

export function usualImageTokens(model: string): number {
  return DEAR_IMAGES.test(model) ? DEAR_IMAGE_TOKENS.usual : USUAL_IMAGE_TOKENS;
}

export function mostImageTokens(kind: string, model: string): number {
  if (DEAR_IMAGES.test(model)) return DEAR_IMAGE_TOKENS.most;
  return kind === 'anthropic' ? MOST_IMAGE_TOKENS.anthropic : MOST_IMAGE_TOKENS.openai;
}

/** The output tokens of all choices together. Reasoning counts as output, within the same limits. */
function outputTokens(
  request: ChatRequest,
  kind: string,
  entry: ChainEntry,
  facts: ModelFacts,
  mode: BudgetMode,
  usual = USUAL_OUTPUT_TOKENS,
): number {
  if (mode !== 'expected') return outputLimitOf(request, kind, entry, facts);
  return Math.min(ownLimitOf(request, kind, entry, facts), usual) * choicesOf(request, kind);
}

/** The most output tokens of all choices, by what the call is asked for and what the model writes at all. */
export function outputLimitOf(
  request: ChatRequest,
  kind: string,
  entry: ChainEntry,
  facts: ModelFacts,
): number {
  return (ownLimitOf(request, kind, entry, facts) + predictedBy(request, kind)) * choicesOf(request, kind);
}

function ownLimitOf(request: ChatRequest, kind: string, entry: ChainEntry, facts: ModelFacts): number {
  return Math.min(
    limitOf(request, kind, entry),
    facts.max_output_tokens ?? facts.context_window ?? LARGEST_WINDOW,
  );
}

/** The most output tokens that a call may bill, by what it was asked for. Infinite when nobody has set a limit. */
export function allowedOutput(request: ChatRequest, kind: string, entry: ChainEntry): number {
  return (limitOf(request, kind, entry) + predictedBy(request, kind)) * choicesOf(request, kind);
}

function limitOf(request: ChatRequest, kind: string, entry: ChainEntry): number {
  const given = (field: 'max_tokens' | 'max_completion_tokens') =>
    entry.drop?.includes(field) ? 0 : (request[field] ?? 0);
  const asked = Math.max(given('max_completion_tokens'), given('max_tokens')) || undefined;
  const byDefault = kind === 'anthropic' ? ANTHROPIC_DEFAULT_MAX_TOKENS : Number.POSITIVE_INFINITY;
  return Math.min(asked ?? entry.max_tokens ?? byDefault, entry.max_tokens ?? Number.POSITIVE_INFINITY);
}

/** Of these each is as long as a single answer. */
export function choicesOf({ n }: ChatRequest, kind: string): number {
  return kind !== 'anthropic' && typeof n === 'number' ? n : 1;
}

/** The tokens of a predicted answer are billed even if the prediction was wrong. */
function predictedBy({ prediction = null }: ChatRequest, kind: string): number {
  return kind === 'anthropic' || prediction === null ? 0 : Buffer.byteLength(JSON.stringify(prediction));
}

/** OpenAI writes to its cache without being asked. */
function promptRate(price: PriceUsed, kind: string, { caches }: PromptSize, mode: BudgetMode): number {
  if (mode === 'expected' || (kind === 'anthropic' && !caches)) return price.input;
  return Math.max(price.input, price.cachedInput, price.cacheWrite, price.cacheWrite1h);
}
