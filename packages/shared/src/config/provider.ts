/** One provider of gateway.yaml, or one that was added beside it, as the gateway uses it. */
import { type CamelFields, pick, toCamel } from '../contract/names.js';
import { ADDRESS_PARTS, PRESETS } from '../contract/presets.js';
import { priceListAt } from '../contract/price-lists.js';
import {
  type ProviderFields,
  type ProviderKind,
  type Rates,
  TUNING,
  type Tuning,
} from '../contract/provider.js';
import { plainText } from '../contract/references.js';
import { isMap } from '../contract/structs.js';
import type { Env } from './env-lookup.js';
import { withReferences } from './interpolate.js';

/** How a provider is reached. */
export interface EndpointConfig {
  kind: ProviderKind;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The path of the chat endpoint after the base URL. `{model}` stands for the model. */
  path: string;
  /** The path of OpenAI's Responses API. Undefined when the provider has none. */
  responsesPath?: string | undefined;
  /** The path of the embeddings endpoint. Undefined when the provider has none. */
  embeddingsPath?: string | undefined;
  /** Which of the two endpoints is taken. Undefined: the one that the model takes. */
  api?: Api | undefined;
  /** The path of the model list. Undefined when the provider has no list. */
  modelsPath: string | undefined;
  /** The query of every call. */
  query: Readonly<Record<string, string>>;
  /** Headers of every call, in addition to those of the kind and of `auth`. */
  headers: Readonly<Record<string, string>>;
  auth: AuthConfig;
  /** The gateway's name of a model → the provider's name. */
  renamedModels: ReadonlyMap<string, string>;
  /** Set for Claude at Bedrock and Vertex, where the body has the version and only the path has the model. */
  anthropicVersion: string | undefined;
}

export interface AuthConfig {
  /** The name of the header that carries the key or token, in lower case. */
  header: string;
  /** The word before the key or token. Undefined: there is none. */
  scheme: string | undefined;
  /** The source of a token that has to be fetched again and again. Undefined: the key comes from a variable. */
  token: TokenSource | undefined;
  /** The lifetime of a token that does not state its own. Undefined: see TokenSource. */
  tokenLifetimeMs: number | undefined;
  /** Calls are signed with the credentials of AWS. */
  sigv4: { region: string; service: string } | undefined;
}

/** A file with a token that somebody else rewrites, or a command that prints a token. */
export type TokenSource = { file: string } | { command: readonly string[] };

/** In any minute, over all workers. */
export type RateLimits = Partial<CamelFields<Rates>>;

export interface ProviderLimits extends RateLimits {
  /** Further limits of the models that a pattern fits, all of them together. */
  models: (RateLimits & { pattern: string })[];
}

/** One of several keys of a provider. */
export interface ProviderKeyConfig {
  name: string;
  apiKeyEnv: string | undefined;
  /** Its share of the calls; undefined: the key with the fewest calls under way is taken. */
  weight: number | undefined;
  limits: ProviderLimits | undefined;
}

export type Api = NonNullable<ProviderFields['api']>;
export type CheckAnswers = Tuning['check_answers'];

export interface ProviderConfig extends EndpointConfig, CamelFields<Tuning> {
  name: string;
  /** The provider's price list: `openai`, `anthropic`, or one of OTHER_PRICE_LISTS. */
  prices: string;
  /** Whose models these are, where it is not the maker that the price list is named after. */
  maker?: string;
  /** The variable that holds the provider's key; see resolveProviderKeys. */
  apiKeyEnv: string | undefined;
  /** Several keys instead of one. */
  keys?: ProviderKeyConfig[] | undefined;
  /** Requests and tokens per minute; a request that does not fit waits. */
  limits?: ProviderLimits | undefined;
  /** Set for a provider that is not in gateway.yaml. */
  added?: AddedProvider | undefined;
}

/** The most calls at a time where their number is found. Each worker has so many connections at most. */
export const MOST_FOUND = 1_000;

export function mostCallsOf({ concurrency }: Pick<ProviderConfig, 'concurrency'>): number {
  return concurrency === 'auto' ? MOST_FOUND : concurrency;
}

/** What is known about a provider that was added in the console or with `sluice providers set`. */
export interface AddedProvider {
  /** The fields as they were written, without keys. Values of headers may be secret. */
  settings: Readonly<Record<string, unknown>>;
  /** The id of each stored key by the key's name, which is ONLY_KEY for a single one. Another key has another id. */
  keyIds: ReadonlyMap<string, string>;
}

/** The name of a provider's key when it has no pool of keys. */
export const ONLY_KEY = '';

const KINDS: Readonly<
  Record<ProviderKind, { chat: string; models: string; key: Pick<AuthConfig, 'header' | 'scheme'> }>
> = {
  openai: {
    chat: '/chat/completions',
    models: '/models',
    key: { header: 'authorization', scheme: 'Bearer' },
  },
  anthropic: {
    chat: '/v1/messages',
    models: '/v1/models',
    key: { header: 'x-api-key', scheme: undefined },
  },
};

/** The fields that were written, completed by those of the preset. Without `env` no text names a variable. */
export function completed(written: unknown, env?: Env): unknown {
  if (!isMap(written)) return written;
  const own = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== null));
  const known = (fields: unknown) => (env ? withReferences(fields, env) : fields) as Record<string, unknown>;
  if (own.preset === undefined) return { ...known(ADDRESS_PARTS), ...own };
  // The unknown preset is a mistake. Its missing fields are none.
  const preset = known(PRESETS[plainText(own.preset) ?? ''] ?? PRESETS.openai);
  const ownAuth = isMap(own.auth) ? own.auth : {};
  const fetchesToken = ['token_file', 'token_command', 'sigv4'].some(
    (field) => (ownAuth[field] ?? null) !== null,
  );
  const { api_key, auth, ...others } = preset;
  const { token_command, ...rest } = isMap(auth) ? auth : {};
  const hasKey = own.api_key !== undefined || own.keys !== undefined;
  const isNone = own.auth === 'none';
  return {
    ...known(ADDRESS_PARTS),
    ...others,
    // Credentials have one source: the file, or else the preset.
    ...(hasKey || fetchesToken || isNone || api_key === undefined ? {} : { api_key }),
    ...own,
    auth: isNone
      ? 'none'
      : {
          ...rest,
          ...(hasKey || fetchesToken || token_command === undefined ? {} : { token_command }),
          ...ownAuth,
        },
  };
}

export function toProvider(name: string, fields: ProviderFields): ProviderConfig {
  const { kind, base_url: baseUrl, path, models_path: modelsPath, auth, region } = fields;
  const { prices, api_key: key, keys, limits } = fields;
  const standard = KINDS[kind];
  return {
    name,
    kind,
    baseUrl,
    path: path ?? standard.chat,
    responsesPath: responsesPathOf(fields),
    embeddingsPath: embeddingsPathOf(fields),
    api: fields.api,
    modelsPath: modelsPath === 'none' ? undefined : (modelsPath ?? standard.models),
    query: withSmallNames(fields.query),
    headers: withSmallNames(fields.headers),
    auth: toAuth(auth === 'none' ? undefined : auth, standard.key, region),
    renamedModels: new Map(Object.entries(fields.rename_models)),
    anthropicVersion: fields.anthropic_version,
    prices: prices ?? priceListAt(baseUrl) ?? kind,
    apiKeyEnv: key?.name,
    keys: keys?.map(({ name, api_key, weight, limits }) => ({
      name,
      apiKeyEnv: api_key?.name,
      weight,
      limits: toProviderLimits(limits),
    })),
    limits: toProviderLimits(limits),
    ...toCamel(pick(fields, TUNING)),
  };
}

/** Beside the chat endpoint, unless the file says another place. A proxy with a path of its own may not have it. */
function responsesPathOf({ kind, path, responses_path: own }: ProviderFields): string | undefined {
  if (kind !== 'openai' || own === 'none') return undefined;
  const chat = path ?? KINDS.openai.chat;
  const beside = chat.endsWith(KINDS.openai.chat) && !chat.includes('{model}');
  return own ?? (beside ? `${chat.slice(0, -KINDS.openai.chat.length)}/responses` : undefined);
}

/** The same for embeddings. Here the model may be in the path, as Azure's deployments are. */
function embeddingsPathOf({ kind, path, embeddings_path: own }: ProviderFields): string | undefined {
  if (kind !== 'openai' || own === 'none') return undefined;
  const chat = path ?? KINDS.openai.chat;
  const isKnown = chat.endsWith(KINDS.openai.chat);
  return own ?? (isKnown ? `${chat.slice(0, -KINDS.openai.chat.length)}/embeddings` : undefined);
}

function withSmallNames(pairs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).map(([name, value]) => [name.toLowerCase(), value]));
}

type AuthFields = Exclude<NonNullable<ProviderFields['auth']>, 'none'>;

function toAuth(
  auth: AuthFields | undefined,
  standard: Pick<AuthConfig, 'header' | 'scheme'>,
  region: string | undefined,
): AuthConfig {
  const { header, scheme, token_file: file, token_command: command, sigv4 } = auth ?? { sigv4: false };
  return {
    header: header?.toLowerCase() ?? standard.header,
    // A header that the operator chose has the bare key, unless the file says otherwise.
    scheme: scheme ?? (header === undefined ? standard.scheme : undefined),
    token: file === undefined ? command && { command } : { file },
    tokenLifetimeMs: auth?.token_lifetime_ms,
    sigv4: sigv4 ? { region: region ?? '', service: auth?.service ?? 'bedrock' } : undefined,
  };
}

function toProviderLimits(limits: ProviderFields['limits']): ProviderLimits | undefined {
  if (limits === undefined) return undefined;
  const { models, ...rates } = limits;
  const ofModels = Object.entries(models).map(([pattern, own]) => ({ pattern, ...toCamel(own) }));
  return { ...toCamel(rates), models: ofModels };
}
