import type { KeyPriority } from '../contract/priority.js';

export type ProviderKind = 'openai' | 'anthropic';

/** How a provider is reached. */
export interface EndpointConfig {
  kind: ProviderKind;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The path of the chat endpoint after the base URL. `{model}` stands for the model. */
  path: string;
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
export interface RateLimits {
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  inputTokensPerMinute?: number | undefined;
  outputTokensPerMinute?: number | undefined;
}

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

export interface ProviderConfig extends EndpointConfig {
  name: string;
  /** The provider's price list: `openai`, `anthropic`, or one of OTHER_PRICE_LISTS. */
  prices: string;
  /** The variable that holds the provider's key; see resolveProviderKeys. */
  apiKeyEnv: string | undefined;
  /** Several keys instead of one. */
  keys?: ProviderKeyConfig[] | undefined;
  /** Requests and tokens per minute; a request that does not fit waits. */
  limits?: ProviderLimits | undefined;
  /** The most calls at a time, over all workers together. */
  concurrency: number;
  /** How long a request may wait in the provider's queue. */
  maxWaitMs: number;
  /** How many requests may wait. */
  maxBacklog: number;
  /** The time limit of one attempt. */
  timeoutMs: number;
  /** How long nobody calls after an upstream 429 that names no time. */
  cooldownMs: number;
  /** The longest cool-down, whatever upstream asks for. After it the provider is probed. */
  maxCooldownMs: number;
  /** Failures in a row after which nobody calls the provider for a while; 0: never. */
  circuitFailures: number;
  /** The first of these pauses. A pause doubles with every probe that fails. */
  circuitOpenMs: number;
  checkAnswers: CheckAnswers;
  /** The price of a line in the provider's own batches, as a share of the normal price. */
  batchPriceFactor: number;
  /** Set for a provider that is not in gateway.yaml. */
  added?: AddedProvider | undefined;
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

/** The answers that have to fit the caller's JSON schema: those to strict schemas, to all schemas, or to none. */
export type CheckAnswers = 'strict' | 'always' | 'never';

export interface RouteConfig {
  chain: RouteEntry[];
  onCrash: OnCrash;
  /** Batches of this route are handed to the provider's own batch API where that is possible. */
  providerBatches?: boolean;
}

export interface KeyConfig extends KeyPriority {
  name: string;
  /** The variable that holds the key's value; see resolveWorkspaceKeys. */
  valueEnv: string | undefined;
}

/** `strict`: an estimate is the most that a call can cost. `expected`: most calls cost less than the estimate. */
export type BudgetMode = 'strict' | 'expected';
export type OverBudget = 'wait' | 'fail';
export type UnpricedPolicy = 'refuse' | 'allow';

export interface LimitsConfig {
  requestsPerMinute: number | undefined;
  /** A request waits where they are used up. */
  tokensPerMinute?: number | undefined;
  concurrentRequests: number | undefined;
  budgetUsdPerMonth: number | undefined;
  /** How the gateway estimates the cost that it reserves for a request. The default is strict. */
  budget?: BudgetMode | undefined;
  /** Whether models without a known price may be used. The default is to refuse them if the workspace has a budget. */
  unpricedModels?: UnpricedPolicy | undefined;
  /** The workspace gets this many turns for one turn of a workspace without a weight, while both wait. */
  weight?: number | undefined;
  /** What the workspace's batches do when the budget is spent. By default they wait. */
  batchesOverBudget?: OverBudget | undefined;
}

/** The limits by their names in gateway.yaml and in the admin api. */
export const LIMIT_FIELDS = {
  requests_per_minute: 'requestsPerMinute',
  tokens_per_minute: 'tokensPerMinute',
  concurrent_requests: 'concurrentRequests',
  budget_usd_per_month: 'budgetUsdPerMonth',
  budget: 'budget',
  unpriced_models: 'unpricedModels',
  weight: 'weight',
  batches_over_budget: 'batchesOverBudget',
} as const satisfies Record<string, keyof LimitsConfig>;

export interface WorkspaceConfig {
  id: string;
  name: string | undefined;
  keys: KeyConfig[];
  /** Alias → route. */
  routes: Map<string, RouteConfig>;
  /** The routes and model ids that callers may name as `model`. `*` stands for any characters. Undefined: all. */
  models: string[] | undefined;
  limits: LimitsConfig;
}

/** The limits of a request's structure. Each count is over the whole body. */
export interface RequestLimits {
  /** Levels of nested arrays and objects. */
  depth: number;
  /** Keys of objects. */
  keys: number;
  /** Elements of arrays. */
  elements: number;
  messages: number;
  /** Content parts of messages. */
  parts: number;
}

/** How the request log is kept in PostgreSQL. */
export interface ArchiveConfig {
  /** Undefined: entries are kept for ever. */
  keepRequestsDays: number | undefined;
  keepSpendDays: number | undefined;
  /** The largest log in Redis while PostgreSQL is away. Further entries go to disk. */
  maxRedisBytes: number;
}

/** gateway.yaml, validated, with its defaults. It holds no secret, so every process may load it. */
export interface GatewayConfig {
  /** Name → provider. */
  providers: Map<string, ProviderConfig>;
  workspaces: WorkspaceConfig[];
  request: {
    deadlineMs: number;
    maxBodyBytes: number;
    /** The most bytes of bodies that an api process has accepted and not yet answered. */
    maxBytesInFlight: number;
    /** The most of these bytes that one workspace may have. */
    maxBytesInFlightPerWorkspace: number;
    /** The most bytes of large answers that a worker process holds at a time. */
    maxAnswerBytesInFlight: number;
    /** The most bytes of answers to Idempotency-Keys that a workspace keeps in Redis. */
    maxKeptAnswerBytes: number;
    /** How long a caller may take to send a request, its body included. */
    receiveTimeoutMs: number;
    limits: RequestLimits;
  };
  /** Origins whose pages may call the gateway from a browser; `*` is any. */
  cors: { origins: string[] };
  requestLog: {
    maxEntries: number;
    /** The tags whose values are labels of metrics. */
    metricTags: string[];
    /** The refusals of a workspace that an api process logs one by one. Further ones are counted and logged together. */
    maxRefusalsPerMinute: number;
  };
  /** What a workspace may store for its batches. */
  files: { maxFileBytes: number; maxBytesPerWorkspace: number; maxFilesPerWorkspace: number };
  batches: {
    /** The most lines of one batch that wait or run at a time. */
    linesInFlight: number;
    maxActivePerWorkspace: number;
    /** How long after its creation a provider's batch is first asked for. Later waits grow. */
    providerPollMs: number;
  };
  webhooks: {
    /** Whether a webhook may lead into a private network, or have an address without TLS. */
    allowPrivateAddresses: boolean;
    maxPerWorkspace: number;
    timeoutMs: number;
    /** The wait after the first failure. Later waits grow. */
    firstRetryMs: number;
  };
  archive: ArchiveConfig;
  access: AccessConfig;
  /** Where the model registry is refreshed from, and how often. */
  registry: { url: string | undefined; refreshMs: number; allowPrivateAddresses: boolean };
}

/** The people who may use the console, and how they sign in, beside ADMIN_TOKEN. */
export interface AccessConfig {
  /** Where people reach the console, without a trailing slash. */
  consoleUrl: string | undefined;
  oidc: OidcConfig | undefined;
  proxy: ProxyConfig | undefined;
  /** What the members of a group may do, by the name of the group. */
  groups: ReadonlyMap<string, Grant>;
  /** Whether admins may add providers beside those of gateway.yaml. */
  addProviders: boolean;
}

export interface OidcConfig {
  issuer: string;
  clientId: string;
  /** The variable that holds the secret; see resolveOidcSecret. Undefined: a client without one. */
  clientSecretEnv: string | undefined;
  scopes: string;
  /** A claim, or a path such as `realm_access.roles`. */
  groupsClaim: string;
  /** On the button: "Sign in with …". */
  label: string;
}

export interface ProxyConfig {
  /** Addresses and networks that are believed. */
  addresses: string[];
  userHeader: string;
  groupsHeader: string;
}

/** A viewer looks, an operator keeps the gateway running, an admin decides who uses it. Each includes those before. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A role and the workspaces in which it holds. Without a list it holds in all of them and for the whole gateway. */
export interface Grant {
  role: Role;
  workspaces?: readonly string[];
}

/** One step of a route: a model of a provider, and settings that differ from the provider's. */
export interface ChainEntry {
  provider: string;
  model: string;
  timeout_ms?: number;
  max_tokens?: number;
  retries?: number;
  /** Fields of requests that this model does not get. */
  drop?: string[];
  /** Fields of requests that this model gets under another name. */
  rename?: Record<string, string>;
}

/** A member of a group gets its weight's share of the group's requests. */
export interface GroupMember extends ChainEntry {
  /** Absent: 1. */
  weight?: number;
}

/** A group: each request goes to one member first, and to the other members before the next entry of the chain. */
export interface EntryGroup {
  one_of: GroupMember[];
}

/** An entry of a route as it is written. The chain of a request has no groups any more. */
export type RouteEntry = ChainEntry | EntryGroup;

export type OnCrash = 'rerun' | 'fail';
