/** The format of a registry: of the shipped file, of an operator's file, and of the body of a refresh. */
import {
  array,
  enums,
  type Failure,
  type Infer,
  integer,
  literal,
  min,
  nonempty,
  number,
  object,
  optional,
  pattern,
  record,
  refine,
  type Struct,
  size,
  string,
  validate,
} from 'superstruct';
import { PRICE_LISTS } from '../config/price-lists.js';
import { toPicodollars } from './price.js';

/** Far above any real price. It catches a price in the wrong unit or with a slipped point. */
const MAX_USD_PER_MILLION_TOKENS = 10_000;

const MAX_SHOWN_MISTAKES = 20;

const price = refine(number(), 'price', (value) => {
  if (value < 0) return `must not be negative, but is ${value}`;
  if (value > MAX_USD_PER_MILLION_TOKENS)
    return `must be at most ${MAX_USD_PER_MILLION_TOKENS}, but is ${value}`;
  if (toPicodollars(value) === undefined) return `must be a multiple of 0.000001, but is ${value}`;
  return true;
});

/** USD per million tokens. */
const prices = object({
  input: price,
  cached_input: optional(price),
  cache_write: optional(price),
  cache_write_1h: optional(price),
  output: price,
});

const serviceTiers = record(nonempty(string()), prices);
const tokens = min(integer(), 1);
const date = pattern(string(), /^\d{4}-\d\d-\d\d$/);

const longContext = refine(
  array(object({ above: tokens, prices, service_tiers: optional(serviceTiers) })),
  'ascending',
  (steps) =>
    steps.every((step, i) => step.above > (steps[i - 1]?.above ?? 0)) ||
    'must ascend by `above`, each only once',
);

const facts = {
  prices,
  /** When a prompt has more than `above` tokens, the whole request is billed at these prices. */
  long_context: optional(longContext),
  service_tiers: optional(serviceTiers),
  /** USD for each request on top of its tokens, such as for the search that a search model makes. */
  fee_per_request: optional(price),
  context_window: optional(tokens),
  max_output_tokens: optional(tokens),
  /** The abilities that are known. A missing tag means that nothing is stated, not that the model lacks it. */
  capabilities: optional(array(nonempty(string()))),
  deprecated: optional(date),
  as_of: optional(date),
};

const modelEntry = object({
  id: size(string(), 1, 256),
  /** The price list of the entry: a kind of provider, or one of the other price lists. */
  provider: enums(PRICE_LISTS),
  ...facts,
  source: optional(string()),
});
const modelOverride = object(facts);

const registryDocument = object({
  version: nonempty(string()),
  unit: literal('usd_per_million_tokens'),
  models: array(modelEntry),
});

export type PriceEntry = Infer<typeof prices>;
export type ModelOverride = Infer<typeof modelOverride>;
export type ModelEntry = Infer<typeof modelEntry>;
export type RegistryDocument = Infer<typeof registryDocument>;

/** A registry that cannot be used, with everything that is wrong with it. */
export class InvalidRegistry extends Error {
  override readonly name = 'InvalidRegistry';

  /** `mistakes`: each a path, a colon and what is wrong there. */
  constructor(readonly mistakes: readonly string[]) {
    const shown = mistakes.slice(0, MAX_SHOWN_MISTAKES).map((mistake) => `\n  ${mistake}`);
    const more = mistakes.length > shown.length ? `\n  and ${mistakes.length - shown.length} more` : '';
    super(`the model registry is not valid:${shown.join('')}${more}`);
  }
}

export function parseRegistryDocument(json: unknown): RegistryDocument {
  return parse(json, registryDocument, duplicates(json));
}

/** An operator's own entry for one model: prices, and other facts that replace the document's. */
export function parseModelOverride(json: unknown): ModelOverride {
  return parse(json, modelOverride, []);
}

function parse<T, S>(json: unknown, struct: Struct<T, S>, moreMistakes: string[]): T {
  const mistakes = [...moreMistakes];
  let value: T | undefined;
  try {
    const [error, valid] = validate(json, struct);
    mistakes.unshift(...(error?.failures() ?? []).map(describe));
    value = valid;
  } catch {
    // superstruct prints what it was given, and `{"toString": 1}` cannot be printed.
    mistakes.push('registry: is not of the right shape');
  }
  if (mistakes.length > 0 || value === undefined) throw new InvalidRegistry(mistakes);
  return value;
}

function describe(failure: Failure): string {
  const path = failure.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return `${path.replace(/^\./, '') || 'registry'}: ${reason(failure)}`;
}

function reason({ type, value, refinement, message }: Failure): string {
  if (refinement === 'price' || refinement === 'ascending') return message;
  if (type === 'never') return 'is no known field';
  if (value === undefined) return 'is missing';
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** Checks the raw value, so that duplicates are reported together with the other mistakes. */
function duplicates(json: unknown): string[] {
  const models = (json as { models?: unknown } | null | undefined)?.models;
  if (!Array.isArray(models)) return [];
  const first = new Map<string, number>();
  const mistakes: string[] = [];
  models.forEach((model: Partial<ModelEntry> | null | undefined, i) => {
    if (typeof model?.id !== 'string' || typeof model.provider !== 'string') return;
    const key = `${model.provider} ${model.id}`;
    const seen = first.get(key);
    if (seen === undefined) first.set(key, i);
    else mistakes.push(`models[${i}].id: ${model.id} of ${model.provider} is already at models[${seen}]`);
  });
  return mistakes;
}
