/**
 * Models, their prices, and the registry that has them. These structs are superstruct's own, whose messages quote what was
 * found: a list of prices holds no secret.
 */
import * as own from 'superstruct';
import { type List, moment, momentOrNull, textOrNull } from './common.js';
import { errorDetail } from './error.js';
import { PRICE_LISTS } from './price-lists.js';
import * as s from './structs.js';

/** Far above any real price. It catches a price in the wrong unit or with a slipped point. */
const MAX_USD_PER_MILLION_TOKENS = 10_000;

/** Undefined when the price is not a whole number of picodollars per token. The tolerance is for binary fractions. */
export function toPicodollars(usdPerMillionTokens: number): number | undefined {
  const exact = usdPerMillionTokens * 1_000_000;
  const whole = Math.round(exact);
  return Number.isSafeInteger(whole) && Math.abs(exact - whole) < 1e-4 ? whole : undefined;
}

/** A struct of superstruct, and the same in JSON Schema. */
function shape<T, S>(struct: own.Struct<T, S>, json: s.JsonSchema): s.Shape<T> {
  return new s.Shape<T>(struct as never, json);
}

function maybe<T>({ json, ...struct }: s.Shape<T>): s.Shape<T | undefined> {
  return new s.Shape<T | undefined>(own.optional(struct as never), json, { isOptional: true });
}

function object<const S extends s.Schema>(schema: S): s.Shape<s.FieldsOf<S>> {
  return new s.Shape<s.FieldsOf<S>>(own.object(schema as never) as never, s.fields(schema).json);
}

function array<T>(item: s.Shape<T>): s.Shape<T[]> {
  return new s.Shape<T[]>(own.array(item) as never, s.list(item).json);
}

function record<T>(item: s.Shape<T>): s.Shape<Record<string, T>> {
  return new s.Shape<Record<string, T>>(
    own.record(own.nonempty(own.string()), item as never) as never,
    s.record(item).json,
  );
}

export const price = shape(
  own.refine(own.number(), 'price', (value) => {
    if (value < 0) return `must not be negative, but is ${value}`;
    if (value > MAX_USD_PER_MILLION_TOKENS)
      return `must be at most ${MAX_USD_PER_MILLION_TOKENS}, but is ${value}`;
    if (toPicodollars(value) === undefined) return `must be a multiple of 0.000001, but is ${value}`;
    return true;
  }),
  {
    type: 'number',
    minimum: 0,
    maximum: MAX_USD_PER_MILLION_TOKENS,
    description: 'USD per million tokens.',
  },
);
const maybePrice = maybe(price);

const prices = object({
  input: price,
  output: price,
  cached_input: maybePrice,
  cache_write: maybePrice,
  cache_write_1h: maybePrice,
});
export type Prices = s.Infer<typeof prices>;

const nonempty = shape(own.nonempty(own.string()), { type: 'string', minLength: 1 });
const serviceTiers = maybe(record(prices));
export const tokens = shape(own.min(own.integer(), 1), { type: 'integer', minimum: 1 });
const DATE = /^\d{4}-\d\d-\d\d$/;
export const date = shape(own.pattern(own.string(), DATE), { type: 'string', pattern: DATE.source });

/** When a prompt has more than `above` tokens, the whole request is billed at these prices. */
const longContext = array(object({ above: tokens, prices, service_tiers: serviceTiers }));
const ascending = shape(
  own.refine(
    longContext as unknown as own.Struct<{ above: number }[]>,
    'ascending',
    (steps) =>
      steps.every((step, i) => step.above > (steps[i - 1]?.above ?? 0)) ||
      'must ascend by `above`, each only once',
  ),
  longContext.json,
) as typeof longContext;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;
const time = shape(own.pattern(own.string(), TIME), { type: 'string', pattern: TIME.source });
const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const day = shape(own.enums(WEEK), { type: 'string', enum: [...WEEK] });
const MOST_BANDS = 16;
/**
 * Other prices at some hours of some days, in UTC. They stand for all prices of the model. `to` is no longer in the band; one
 * that is not after `from` is on the next day, and `days` then asks for the day of the moment itself.
 */
const bands = array(
  object({
    from: time,
    to: time,
    days: maybe(array(day)),
    prices,
    long_context: maybe(ascending),
    service_tiers: serviceTiers,
  }),
);
const timeBands = shape(own.size(bands as unknown as own.Struct<unknown[]>, 1, MOST_BANDS), {
  ...bands.json,
  maxItems: MOST_BANDS,
}) as unknown as typeof bands;

const facts = {
  time_bands: maybe(timeBands),
  /** USD for each request on top of its tokens, such as for the search that a search model makes. */
  fee_per_request: maybePrice,
  long_context: maybe(ascending),
  service_tiers: serviceTiers,
  context_window: maybe(tokens),
  max_output_tokens: maybe(tokens),
  /** The abilities that are known. A missing one means that nothing is stated, not that the model lacks it. */
  capabilities: maybe(array(nonempty)),
  deprecated: maybe(date),
  as_of: maybe(date),
};
const source = maybe(shape(own.string(), { type: 'string' }));

/** An operator's own entry for one model. */
export const modelOverride = s.named('ModelOverride', object({ prices, ...facts }));
export type ModelOverride = s.Infer<typeof modelOverride>;

export const registryModel = object({
  id: shape(own.size(own.string(), 1, 256), { type: 'string' }),
  /** Its price list: a kind of provider, or one of the other price lists. */
  provider: shape(own.enums(PRICE_LISTS), { type: 'string' }),
  prices,
  ...facts,
  source,
});
export type RegistryModel = s.Infer<typeof registryModel>;

export const registryDocument = object({
  version: nonempty,
  unit: shape(own.literal('usd_per_million_tokens'), { const: 'usd_per_million_tokens' }),
  models: array(registryModel),
});
export type RegistryDocument = s.Infer<typeof registryDocument>;

export const model = s.component('Model', {
  id: s.text(),
  object: s.literal('model'),
  provider: s.text(),
  prices,
  overridden: s.flag,
  ...facts,
  source,
  api: s.optional(
    s
      .choice('responses', 'responses_with_tools', 'embeddings')
      .about(
        'The endpoint that it is called by. `responses_with_tools`: requests with tools by Responses, others by chat completions. Absent: the provider’s one for chats.',
      ),
  ),
  refuses: s.optional(
    s.list(s.text()).about('Fields of requests that it does not take, or not every value of them.'),
  ),
});
export type Model = s.Infer<typeof model>;

export const registry = s.component('Registry', {
  version: s.text(),
  origin: s.choice('shipped', 'operator'),
  source: s.text(),
  refreshed_at: momentOrNull,
  last_scheduled: s.orNull(s.fields({ at: moment, problem: textOrNull })),
});

const HTTP_ADDRESS: s.TextRule = { pattern: /^https?:\/\/\S+$/i, allowed: 'an http or https address' };

export const refreshInput = s.component(
  'RefreshInput',
  {
    url: s.optional(s.textOf(HTTP_ADDRESS).about('Where to fetch the document.')),
    document: s.optional(
      s.any<unknown>({
        type: 'object',
        description: 'The document itself: our shape, or LiteLLM’s price map.',
      }),
    ),
    confirm: s.withDefault(
      s.flag.about('Apply it although it drops models or changes prices wildly.'),
      false,
    ),
    dry_run: s.withDefault(s.flag.about('Only tell what it would change.'), false),
  },
  {
    *check({ url, document }) {
      if ((url === undefined) === (document === undefined))
        yield { message: 'must have either url or document' };
    },
  },
);

const names = s.list(s.text());
const diff = s.fields({
  from: s.text(),
  to: s.text(),
  models: s.whole(),
  added: names,
  removed: names,
  changed: names,
  wild: s.list(s.fields({ model: s.text(), price: s.choice('input', 'output'), from: price, to: price })),
  counts: s.fields({ added: s.whole(), removed: s.whole(), changed: s.whole(), wild: s.whole() }),
  reasons: names,
});
const refreshFields = { object: s.literal('refresh'), applied: s.flag, version: s.text(), diff };
export const refresh = s.component('Refresh', refreshFields);
export const refreshRefused = s.component('RefreshRefused', {
  error: errorDetail,
  ...s.partial(refreshFields),
});

/** What a provider lists. */
export const offeredModel = s.component('CatalogueEntry', {
  id: s.text(),
  object: s.literal('model'),
  created: s.whole(),
  provider: s.text(),
});
export type OfferedModel = s.Infer<typeof offeredModel>;

export interface ModelList extends List<Model> {
  registry: s.Infer<typeof registry>;
}

export interface ModelOffer extends List<OfferedModel> {
  base_url: string;
}
