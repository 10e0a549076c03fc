import type { AttemptOutcome } from '@sluice/shared/outcomes';

/** What the admin api answers, as far as the pages show it. */
export interface List<T> {
  data: T[];
}

export interface Workspace {
  id: string;
  name: string;
  /** Null: all. */
  models: string[] | null;
  limits: {
    requests_per_minute: number | null;
    concurrent_requests: number | null;
    budget_usd_per_month: number | null;
    budget: 'strict' | 'expected' | null;
    unpriced_models: 'refuse' | 'allow' | null;
    weight: number | null;
  };
}

export interface ChainEntry {
  provider: string;
  model: string;
  timeout_ms?: number;
  max_tokens?: number;
  retries?: number;
}

export interface Route {
  id: string;
  workspace: string;
  chain: ChainEntry[];
  on_crash: 'rerun' | 'fail';
}

export interface Key {
  id: string;
  workspace: string;
  name: string;
  last_four: string;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
  /** Only in the answer that issues it. */
  value?: string;
}

export interface Directory {
  workspaces: Workspace[];
  routes: Route[];
  keys: Key[];
}

/** USD per million tokens. */
export interface Prices {
  input: number;
  cached_input?: number;
  cache_write?: number;
  cache_write_1h?: number;
  output: number;
}

export interface ModelFacts {
  prices: Prices;
  long_context?: { above: number; prices: Prices }[];
  service_tiers?: Record<string, Prices>;
  fee_per_request?: number;
  context_window?: number;
  max_output_tokens?: number;
  capabilities?: string[];
  deprecated?: string;
  as_of?: string;
}

export interface Model extends ModelFacts {
  id: string;
  provider: string;
  source?: string;
  overridden: boolean;
}

export interface ModelList extends List<Model> {
  registry: { version: string; origin: string; source: string; refreshed_at: string | null };
}

export interface Catalogue extends List<{ id: string; provider: string; created: number }> {
  base_url: string;
}

export interface Attempt {
  provider: string;
  model: string;
  outcome: AttemptOutcome;
  status?: number;
  ms?: number;
  upstream_id?: string;
  billed?: 'unknown';
  estimated_usd?: string;
}

export type TokenType = 'input' | 'cached_input' | 'cache_write' | 'cache_write_1h' | 'output';

export interface LoggedRequest {
  id: string;
  accepted_at: string;
  settled_at: string;
  workspace: string;
  key_id: string;
  route: string | null;
  model: string;
  status: number;
  code: string | null;
  /** More than 1: refusals that were logged together. */
  count: number;
  last_at: string;
  provider: string | null;
  provider_model: string | null;
  queue_ms: number;
  latency_ms: number | null;
  attempts: Attempt[];
  usage: Record<TokenType, number> | null;
  cost_usd: string;
  billed: 'exact' | 'unknown';
  estimated_usd: string;
  priced: boolean;
  /** Picodollars per token. */
  price:
    | ({ registry: string; model: string; tier: string; request?: number } & Record<TokenType, number>)
    | null;
}

export interface RequestPage extends List<LoggedRequest> {
  has_more: boolean;
  next_before: string | null;
}

export interface ProviderStatus {
  name: string;
  kind: string;
  /** Whose prices it has. */
  prices: string;
  waiting: number;
  max_backlog: number;
  oldest_waiting_ms: number;
  active: number;
  concurrency: number;
  paused: boolean;
  circuit: { state: 'closed' | 'failing' | 'open'; until: string | null };
  cool_downs: { model: string | null; until: string; remaining_ms: number }[];
}

export interface ProcessStatus {
  id: string;
  role: 'api' | 'worker';
  host: string;
  pid: number;
  started_at: string;
  seen_at: string;
  problems: string[];
  payload_key: string | null;
  payload_keys: string[];
}

export interface Status {
  time: string;
  processes: ProcessStatus[];
  providers: ProviderStatus[];
  redis: {
    memory_used_bytes: number;
    memory_limit_bytes: number | null;
    request_log_entries: number;
    warnings: string[];
  };
  registry: { version: string; models: number };
}

export interface Durations {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export interface Traffic {
  since: string;
  until: string;
  log_begins: string | null;
  requests: number;
  failed: number;
  fallbacks: number;
  duration_ms: Durations;
  codes: { code: string; requests: number }[];
  bucket_seconds: number;
  buckets: { requests: number; failed: number; duration_ms: Durations }[];
  routes: RouteTraffic[];
}

export interface RouteTraffic {
  workspace: string;
  route: string;
  requests: number;
  failed: number;
  fallbacks: number;
  /** By entry of the chain. */
  served: number[];
}

export interface SpendSums {
  requests: number;
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  cost_usd: string;
  unknown_bills: number;
  estimated_usd: string;
}

export interface SpendRow extends SpendSums {
  workspace?: string;
  route?: string | null;
  provider?: string;
  model?: string;
  day?: string;
}

export interface Spend extends List<SpendRow> {
  from: string;
  to: string;
  total: SpendSums;
  groups: number;
  /** By day: what the groups beyond `top` come to. */
  others: SpendRow[];
}

export interface Budget {
  workspace: string;
  budget_usd_per_month: number;
  spent_usd: string;
  estimated_usd: string;
  left_usd: string;
  pace_usd_per_day: number;
}

export interface Budgets extends List<Budget> {
  total: number;
}

export interface Completion {
  choices: { message: { content: string | null; tool_calls?: unknown }; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}
