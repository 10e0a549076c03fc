import type { KeyPriority } from './priority.js';

export type ProviderKind = 'openai' | 'anthropic';

/** How a provider is reached. */
export interface EndpointConfig {
  kind: ProviderKind;
  /** Without a trailing slash. */
  baseUrl: string;
  /** Of the chat endpoint, behind the base URL; `{model}` stands for the model. */
  path: string;
  /** Of the model list; undefined where the provider has none. */
  modelsPath: string | undefined;
  /** Behind the path of every call. */
  query: Readonly<Record<string, string>>;
  /** With every call, beside those of the kind and of `auth`. */
  headers: Readonly<Record<string, string>>;
  auth: AuthConfig;
  /** What the provider calls a model that the gateway knows by another name. */
  renamedModels: ReadonlyMap<string, string>;
  /** Set where the version stands in the body, and the model only in the path: Claude at Bedrock and Vertex. */
  anthropicVersion: string | undefined;
}

export interface AuthConfig {
  /** The header that has the key or token, in lower case. */
  header: string;
  /** The word before it; undefined: none. */
  scheme: string | undefined;
  /** Where a token comes from that has to be fetched again and again; undefined: the key is a variable's. */
  token: TokenSource | undefined;
  /** How long a token is good that does not say so itself; undefined: see TokenSource. */
  tokenLifetimeMs: number | undefined;
  /** Calls are signed with the credentials of AWS. */
  sigv4: { region: string; service: string } | undefined;
}

/** A file that somebody else rewrites, or a command that prints one. */
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
  /** Whose prices it has: `openai`, `anthropic`, or one of OTHER_PRICE_LISTS. */
  prices: string;
  /** The variable that holds the provider's key; see resolveProviderKeys. */
  apiKeyEnv: string | undefined;
  /** Several keys instead of one. */
  keys?: ProviderKeyConfig[] | undefined;
  /** Requests and tokens per minute; a request that does not fit waits. */
  limits?: ProviderLimits | undefined;
  /** Calls at a time, over all workers together. */
  concurrency: number;
  /** How long a request may wait in the provider's queue. */
  maxWaitMs: number;
  /** How many requests may wait. */
  maxBacklog: number;
  /** Of one attempt. */
  timeoutMs: number;
  /** How long nobody calls after an upstream 429 that names no time itself. */
  cooldownMs: number;
  /** The longest that nobody calls, whatever upstream asks for; it is probed from then on. */
  maxCooldownMs: number;
  /** Failures in a row after which nobody calls the provider for a while; 0: never. */
  circuitFailures: number;
  /** How long that is at first; it doubles with every probe that fails. */
  circuitOpenMs: number;
  checkAnswers: CheckAnswers;
}

/** Which answers have to fit the caller's JSON schema: those to a strict one, to any, or none. */
export type CheckAnswers = 'strict' | 'always' | 'never';

export interface RouteConfig {
  chain: ChainEntry[];
  onCrash: OnCrash;
}

export interface KeyConfig extends KeyPriority {
  name: string;
  /** The variable that holds the key's value; see resolveWorkspaceKeys. */
  valueEnv: string | undefined;
}

/** `strict`: an estimate is the most that a call can cost. `expected`: what most calls stay under. */
export type BudgetMode = 'strict' | 'expected';
export type OverBudget = 'wait' | 'fail';
export type UnpricedPolicy = 'refuse' | 'allow';

export interface LimitsConfig {
  requestsPerMinute: number | undefined;
  /** A request waits where they are used up. */
  tokensPerMinute?: number | undefined;
  concurrentRequests: number | undefined;
  budgetUsdPerMonth: number | undefined;
  /** How the cost of a request is estimated that is held back of the budget; default: strict. */
  budget?: BudgetMode | undefined;
  /** Whether models without a known price may be used; default: refuse as soon as there is a budget, else allow. */
  unpricedModels?: UnpricedPolicy | undefined;
  /** How many turns it gets for one of a workspace without a weight, where both wait. */
  weight?: number | undefined;
  /** What its batches do when the budget is spent; default: they wait. */
  batchesOverBudget?: OverBudget | undefined;
}

/** By the names that they have in gateway.yaml and in the admin api. */
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
  /** By alias. */
  routes: Map<string, RouteConfig>;
  /** What callers may name as `model`: routes and model ids, `*` for any characters. Undefined: everything. */
  models: string[] | undefined;
  limits: LimitsConfig;
}

/** How large a request may be in structure. Each counts over the whole body. */
export interface RequestLimits {
  /** Levels of arrays and objects in each other. */
  depth: number;
  /** Keys of objects. */
  keys: number;
  /** Elements of arrays. */
  elements: number;
  messages: number;
  /** Content parts of messages. */
  parts: number;
}

/** What becomes of the request log in PostgreSQL. */
export interface ArchiveConfig {
  /** Undefined: for ever. */
  keepRequestsDays: number | undefined;
  keepSpendDays: number | undefined;
  /** How large the log may become in Redis while PostgreSQL is away; beyond that it goes to disk. */
  maxRedisBytes: number;
}

/** gateway.yaml, validated, with its defaults. It holds no secret, so every process may load it. */
export interface GatewayConfig {
  /** By name. */
  providers: Map<string, ProviderConfig>;
  workspaces: WorkspaceConfig[];
  request: {
    deadlineMs: number;
    maxBodyBytes: number;
    /** Bodies of all requests that an api process has accepted and not yet answered. */
    maxBytesInFlight: number;
    /** One workspace's part of them. */
    maxBytesInFlightPerWorkspace: number;
    /** Large answers that a worker process holds at a time. */
    maxAnswerBytesInFlight: number;
    /** Answers to Idempotency-Keys that a workspace keeps in Redis. */
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
    /** Of a workspace, by one api process. Further ones are counted, and logged together. */
    maxRefusalsPerMinute: number;
  };
  /** What a workspace may store for its batches. */
  files: { maxFileBytes: number; maxBytesPerWorkspace: number; maxFilesPerWorkspace: number };
  batches: {
    /** Lines of one batch that wait or run at a time. */
    linesInFlight: number;
    maxActivePerWorkspace: number;
  };
  archive: ArchiveConfig;
  access: AccessConfig;
  /** Where the model registry is refreshed from, and how often. */
  registry: { url: string | undefined; refreshMs: number; allowPrivateAddresses: boolean };
}

/** Who may use the console, and how they sign in, beside ADMIN_TOKEN. */
export interface AccessConfig {
  /** Where people reach the console, without a trailing slash. */
  consoleUrl: string | undefined;
  oidc: OidcConfig | undefined;
  proxy: ProxyConfig | undefined;
  /** What the members of a group may do, by the name of the group. */
  groups: ReadonlyMap<string, Grant>;
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

/** What somebody may do: look, keep it running, or change who may use it. Each may what those before may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A role, in these workspaces only. Without a list: in all of them, and for the gateway as a whole. */
export interface Grant {
  role: Role;
  workspaces?: readonly string[];
}

/** One step of a route: a model of a provider, with what is special about calling it here. */
export interface ChainEntry {
  provider: string;
  model: string;
  timeout_ms?: number;
  max_tokens?: number;
  retries?: number;
}

export type OnCrash = 'rerun' | 'fail';
