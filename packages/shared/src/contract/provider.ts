/** The settings of a provider, in gateway.yaml and in the admin api. */
import type { Context } from 'superstruct';
import {
  COUNT,
  callSettings,
  DURATION_MS,
  id,
  MODEL,
  modelId,
  ruleMistake,
  TOKENS,
  WEIGHT,
} from './common.js';
import { ADDRESS_PARTS, PRESETS, PRESETS_WITHOUT_TOKEN } from './presets.js';
import { PRICE_LISTS } from './price-lists.js';
import { plainText } from './references.js';
import * as s from './structs.js';

const PART: s.TextRule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/,
  allowed: '1 to 63 letters, digits and -',
};
/** A part of a preset's address, such as the region. */
export const addressPart = s.textOf(PART);

const PATH: s.TextRule = {
  pattern: /^\/[\w./:@{}~-]{0,512}$/,
  allowed: 'a path such as /chat/completions; {model} stands for the model',
};
// No query is allowed here, because the gateway adds the query for paging.
const MODELS_PATH: s.TextRule = {
  pattern: /^(?:none|\/[\w./:@~-]{0,512})$/,
  allowed: 'a path such as /models, or none',
};
/** The path of the Responses API. */
const RESPONSES_PATH: s.TextRule = { ...MODELS_PATH, allowed: 'a path such as /responses, or none' };
/** The path of the embeddings endpoint. */
const EMBEDDINGS_PATH: s.TextRule = {
  pattern: /^(?:none|\/[\w./:@{}~-]{0,512})$/,
  allowed: 'a path such as /embeddings, or none; {model} stands for the model',
};
const value = s.textOf({ pattern: /^[ -~]{1,1024}$/, allowed: '1 to 1024 printable ASCII characters' });
const word = s.textOf({ pattern: /^[!-~]{1,256}$/, allowed: '1 to 256 characters without spaces' });
const HEADER: s.TextRule = { pattern: /^[A-Za-z0-9-]{1,64}$/, allowed: '1 to 64 letters, digits and -' };
const QUERY_NAME: s.TextRule = {
  pattern: /^[\w.-]{1,64}$/,
  allowed: '1 to 64 letters, digits and . _ -',
};
/** Headers that the gateway or HTTP itself sets, and headers that carry secrets: those belong into `auth`. */
const OWN_HEADERS =
  /^(?:authorization|x-api-key|api-key|x-goog-api-key|cookie|proxy-.*|host|content-.*|accept|connection|keep-alive|te|trailer|transfer-encoding|upgrade|x-amz-.*)$/i;
const SECRET_QUERY = /key|token|secret|password|signature/i;
const MOST_PAIRS = 32;
const MOST_RENAMED = 1_000;
export const MOST_KEYS = 64;

/** YAML reads a date or a version as a number. */
const pairValue = new s.Shape<string>(
  {
    ...value,
    coercer: (given, context) => value.coercer(typeof given === 'number' ? String(given) : given, context),
  },
  value.json,
);
const query = s.record(pairValue, {
  max: MOST_PAIRS,
  isShy: true,
  nameMistake: (name) =>
    SECRET_QUERY.test(name)
      ? 'a secret must not stand in an address; send it in a header, by auth'
      : ruleMistake(QUERY_NAME, name),
});
const headers = s.record(pairValue, {
  max: MOST_PAIRS,
  isShy: true,
  nameMistake: (name) =>
    OWN_HEADERS.test(name)
      ? 'the gateway sets this header itself; auth says which one has the key'
      : ruleMistake(HEADER, name),
});

const authFields = s.fields({
  header: s.optional(s.textOf(HEADER)),
  scheme: s.optional(word),
  token_file: s.optional(value),
  // The command runs without a shell, so nothing in it is expanded.
  token_command: s.optional(s.list(value, { min: 1, max: MOST_PAIRS })),
  token_lifetime_ms: s.optional(s.whole({ min: 1_000, max: 86_400_000 })),
  sigv4: s.withDefault(s.flag, false),
  service: s.optional(addressPart),
});
const auth = s.chosen<s.Infer<typeof authFields> | 'none'>(authFields.json, (given) =>
  given === 'none' ? s.literal('none') : authFields,
);

/** In any minute, over all workers. */
const rates = s.partial({
  requests_per_minute: s.whole(COUNT),
  tokens_per_minute: s.whole(TOKENS),
  input_tokens_per_minute: s.whole(TOKENS),
  output_tokens_per_minute: s.whole(TOKENS),
});
const rateLimits = s.fields(rates);
export type Rates = s.Infer<typeof rateLimits>;

export const providerLimits = s.fields({
  ...rates,
  /** Further limits of the models that a pattern fits, all of them together. */
  models: s.withDefault(
    s.record(rateLimits, {
      nameMistake: (pattern) =>
        MODEL.pattern.test(pattern)
          ? undefined
          : `a pattern must be ${MODEL.allowed}; * stands for any characters`,
    }),
    {},
  ),
});

/** One of several keys of a provider. */
const poolKey = s.fields({
  name: id,
  api_key: s.optional(s.secret),
  weight: s.optional(s.whole(WEIGHT)),
  limits: s.optional(providerLimits),
});

/** The names of the parts in an address such as `https://{resource}.openai.azure.com`. */
export function partsIn(address: string): string[] {
  return [...new Set(Array.from(address.matchAll(/\{([a-z]+)-?\}/g), ([, part = '']) => part))];
}

/** The address of a preset, which alone has parts. */
function templateOf({ preset, base_url: address }: s.Unread): string | undefined {
  const isTemplate = !isAbsent(preset) && typeof address === 'string' && !address.includes('${');
  return isTemplate ? address : undefined;
}

/** The parts of its address that a provider needs. */
function neededParts(provider: s.Unread): string[] {
  const { auth } = provider;
  const ofAddress = partsIn(templateOf(provider) ?? '');
  return s.isMap(auth) && auth.sigv4 === true ? [...ofAddress, 'region'] : ofAddress;
}

/** The provider around a field, as it was given. */
const around = ({ branch }: Context): s.Unread => (branch.at(-2) ?? {}) as s.Unread;

/** Parts that are not needed are not looked at. */
const part = (name: string) =>
  s.chosen<string | undefined>({ type: 'string' }, (_, context) =>
    neededParts(around(context)).includes(name) ? addressPart : s.any<string | undefined>({}),
  );

/** The address with its parts. */
const baseUrl = new s.Shape<string>(
  {
    ...s.httpUrl,
    coercer(address, context) {
      const provider = around(context);
      const template = templateOf(provider);
      return s.httpUrl.coercer(template === undefined ? address : withParts(template, provider), context);
    },
    validator(address, context) {
      const unknown = neededParts(around(context)).filter((name) => !Object.hasOwn(ADDRESS_PARTS, name));
      return [
        ...unknown.map((name) => ({
          message: `is missing; must be ${PART.allowed}`,
          refinement: 'part',
          path: [...context.path.slice(0, -1), name],
        })),
        ...s.httpUrl.validator(address, context),
      ];
    },
  },
  s.httpUrl.json,
);

/** Google's locations of several regions have hosts of another form. */
const MULTI_REGION = /\/\/(eu|us)-aiplatform\./;

function withParts(address: string, provider: s.Unread): string {
  const whole = address.replace(/\{([a-z]+)(-?)\}/g, (_, name: string, dash: string) => {
    const text = plainText(provider[name]) ?? '';
    // A part that is wrong is a mistake of its own.
    const value = PART.pattern.test(text) ? text : 'missing';
    // The address of Google's global location has no name before it.
    return dash !== '' && value === 'global' ? '' : value + dash;
  });
  return whole.replace(MULTI_REGION, '//aiplatform.$1.rep.');
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function* providerMistakes(provider: s.Unread): Iterable<s.Finding> {
  const { kind, anthropic_version: version, auth, api_key: key, keys, api, responses_path: path } = provider;
  if (api === 'responses' && (kind === 'anthropic' || path === 'none'))
    yield { at: 'api', message: 'cannot be responses, because the provider has no such endpoint' };
  if (provider.upstream_stream === true && !isAbsent(version))
    yield {
      at: 'upstream_stream',
      message: 'is not for providers with an anthropic_version, which answer whole',
    };
  if (!isAbsent(version) && kind !== 'anthropic')
    yield { at: 'anthropic_version', message: 'is for kind anthropic only' };
  const { token_file: file, token_command: command, sigv4 } = s.isMap(auth) ? auth : {};
  const hasToken = !isAbsent(file) || !isAbsent(command);
  if (!isAbsent(file) && !isAbsent(command))
    yield { at: 'auth', message: 'has token_file and token_command; keep one of them' };
  if (hasToken && !isAbsent(key))
    yield { at: 'api_key', message: 'is not used beside a token of auth; keep one of them' };
  if ((hasToken || sigv4 === true) && !isAbsent(keys))
    yield {
      at: 'keys',
      message: 'are not used beside a token or a signature of auth; keep one of them',
    };
}

export const KINDS = ['openai', 'anthropic'] as const;
export type ProviderKind = (typeof KINDS)[number];

/** A number, or as many as the provider is found to take. */
const concurrency = s.chosen<number | 'auto'>(
  {
    type: ['integer', 'string'],
    minimum: COUNT.min,
    maximum: COUNT.max,
    pattern: '^auto$',
    description: 'The most calls at a time. auto: as many as the provider is found to take.',
  },
  (given) => (plainText(given) === 'auto' ? s.choice('auto') : s.whole(COUNT)) as s.Shape<number | 'auto'>,
);

const tuning = {
  /** The most calls at a time, over all workers together. */
  concurrency: s.withDefault(concurrency, 'auto'),
  /** How long a request may wait in the provider's queue. */
  max_wait_ms: s.withDefault(s.whole(DURATION_MS), 10_000),
  /** How many requests may wait. */
  max_backlog: s.withDefault(s.whole(COUNT), 1000),
  /** The time limit of one attempt. */
  timeout_ms: s.withDefault(s.whole(DURATION_MS), 120_000),
  /** Whether answers are read in pieces. Then silence ends an attempt, and `timeout_ms` only one whose answer has not begun. */
  upstream_stream: s.withDefault(s.flag, false),
  /** How long an answer in pieces may take to begin. */
  first_token_timeout_ms: s.withDefault(s.whole(DURATION_MS), 15_000),
  /** How long it may be silent then. */
  stall_timeout_ms: s.withDefault(s.whole(DURATION_MS), 15_000),
  /** How long nobody calls after an upstream 429 that names no time. */
  cooldown_ms: s.withDefault(s.whole({ ...DURATION_MS, min: 0 }), 5000),
  /** The longest cool-down, whatever upstream asks for. After it the provider is probed. */
  max_cooldown_ms: s.withDefault(s.whole(DURATION_MS), 300_000),
  /** Failures in a row after which nobody calls the provider for a while; 0: never. */
  circuit_failures: s.withDefault(s.whole({ ...COUNT, min: 0 }), 8),
  /** The first of these pauses. A pause doubles with every probe that fails. */
  circuit_open_ms: s.withDefault(s.whole(DURATION_MS), 5000),
  /** The answers that have to fit the caller's JSON schema: those to strict schemas, to all schemas, or to none. */
  check_answers: s.withDefault(s.choice('strict', 'always', 'never'), 'strict'),
  /** The price of a line in the provider's own batches, as a share of the normal price. */
  batch_price_factor: s.withDefault(s.number({ min: 0, max: 1 }), 0.5),
  /** Whether a call costs what the price list says, or what the provider reports with the answer. */
  cost: s.withDefault(s.choice('list', 'reported'), 'list'),
};
export type Tuning = s.FieldsOf<typeof tuning>;
export const TUNING = Object.keys(tuning) as (keyof Tuning)[];

/** The fields of a provider that has the fields of its preset. */
const providerFields = {
  preset: s.optional(s.choice(...Object.keys(PRESETS))),
  kind: s.choice(...KINDS),
  base_url: baseUrl,
  resource: part('resource'),
  region: part('region'),
  project: part('project'),
  location: part('location'),
  path: s.optional(s.textOf(PATH)),
  models_path: s.optional(s.textOf(MODELS_PATH)),
  responses_path: s.optional(s.textOf(RESPONSES_PATH)),
  embeddings_path: s.optional(s.textOf(EMBEDDINGS_PATH)),
  ...callSettings,
  query: s.withDefault(query, {}),
  headers: s.withDefault(headers, {}),
  auth: s.optional(auth),
  rename_models: s.withDefault(
    s.record(modelId, {
      max: MOST_RENAMED,
      isShy: true,
      nameMistake: (model) => ruleMistake(MODEL, model),
    }),
    {},
  ),
  anthropic_version: s.optional(word),
  prices: s.optional(s.choice(...PRICE_LISTS)),
  api_key: s.optional(s.secret),
  keys: s.optional(s.list(poolKey, { min: 1, max: MOST_KEYS, unique: 'name' })),
  limits: s.optional(providerLimits),
  ...tuning,
};
export const provider = s.fields(providerFields, { check: providerMistakes });
export type ProviderFields = s.Infer<typeof provider>;

/** The keys of a provider that is not in gateway.yaml are stored apart. */
const { api_key: _, ...settingsFields } = providerFields;
export const addedProvider = s.fields(settingsFields, { check: providerMistakes });

/** A header cannot carry any other character. */
export const providerSecret = s.textOf({
  pattern: /^[!-~]{1,4096}$/,
  allowed: 'the provider’s key: printable ASCII without spaces, at most 4,096 characters',
});

const keySettings = {
  weight: s.optional(
    s.orNull(s.whole(WEIGHT)).about('Its share of the calls. Null: the least busy key is taken.'),
  ),
  limits: new s.Shape<s.Infer<typeof providerLimits> | null | undefined>(
    s.optional(s.orNull(providerLimits)),
    { type: ['object', 'null'], description: 'The limits per minute, as in gateway.yaml.' },
    { isOptional: true, takesNull: true },
  ),
};

/** One key of an added provider. */
export const poolKeyInput = s.fields({ api_key: s.optional(providerSecret), ...keySettings });
export const secretInput = s.fields({ api_key: providerSecret });
export const providerQuestion = s.fields({ model: s.optional(modelId) });

/** A provider beside those of gateway.yaml. Its settings are read together with those that are stored. */
export const providerInput = s.any<s.Unread>({
  type: 'object',
  description:
    'The fields of a provider in gateway.yaml, without an auth that fetches a token or signs calls. A value of headers may be true: then the stored one stays.',
  properties: {
    preset: s.choice(...PRESETS_WITHOUT_TOKEN).json,
    kind: providerFields.kind.json,
    base_url: baseUrl.json,
    api_key: s
      .orNull(providerSecret)
      .about(
        'The provider’s key. It is stored encrypted and never shown. Left out: the stored key stays, while base_url, path, models_path, responses_path, embeddings_path, query, headers and auth.header stay the same. Null: no key.',
      ).json,
    keys: s
      .orNull(
        s.list(s.fields({ name: id, api_key: s.optional(s.orNull(providerSecret)), ...keySettings }), {
          min: 1,
          max: MOST_KEYS,
        }),
      )
      .about(
        'Several keys instead of api_key. A key without api_key stays as it is stored. Left out together with api_key: all stay.',
      ).json,
  },
  additionalProperties: true,
});
