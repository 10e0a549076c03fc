/**
 * What the admin api answers: the api writes these, the console and the `sluice` command read them. There are only types
 * here, so that the console, which runs in a browser, takes nothing along. Moments are in ISO 8601.
 */
import type { Role } from './config/types.js';
import type { ErrorCode } from './errors.js';
import type { AttemptOutcome } from './outcomes.js';
import type { Reason, ReasonKind } from './reasons.js';

export type Priority = 'interactive' | 'normal' | 'background';

export interface List<T> {
  object: 'list';
  data: T[];
}

export interface Limits {
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_requests: number | null;
  budget_usd_per_month: number | null;
  budget: 'strict' | 'expected' | null;
  unpriced_models: 'refuse' | 'allow' | null;
  weight: number | null;
  batches_over_budget: 'wait' | 'fail' | null;
}

export interface LimitsInUse extends Limits {
  object: 'limits';
  workspace: string;
  used: {
    /** `2026-11`, UTC. */
    month: string;
    in_flight: number;
    spent_usd: string;
    spent_picodollars: string;
    estimated_usd: string;
    estimated_picodollars: string;
    reserved_usd: string;
    reserved_picodollars: string;
    left_usd: string | null;
    left_picodollars: string | null;
    /** Since when the budget refuses every request. Null: it does not. */
    refusing_since: string | null;
  };
}

export interface Workspace {
  id: string;
  object: 'workspace';
  name: string;
  created_at: string;
  /** Null: all models are allowed. */
  models: string[] | null;
  limits: Limits;
}

/** A workspace, and whether its budget refuses requests. */
export interface WorkspaceState extends Workspace {
  /** Since when the budget refuses every request. Null: it does not. */
  refusing_since: string | null;
}

export interface DeletedWorkspace {
  id: string;
  object: 'workspace';
  deleted: true;
  /** Present when the workspace's history was erased too. From `id_free_at` on, a new workspace may have the id. */
  erased?: { log_entries: number; ledger_rows: number; id_free_at: string };
}

export interface ErasedUser {
  object: 'erasure';
  workspace: string;
  /** In Redis. */
  log_entries: number;
  /** `scheduled`: a worker deletes the rows within seconds, and none is written any more. */
  archive: 'scheduled' | 'none';
}

export interface ChainEntry {
  provider: string;
  model: string;
  timeout_ms?: number;
  max_tokens?: number;
  retries?: number;
  drop?: readonly string[];
  rename?: Readonly<Record<string, string>>;
}

/** A member of a group gets its weight's share of the group's requests. */
export interface GroupMember extends ChainEntry {
  /** Absent: 1. */
  weight?: number;
}

export interface EntryGroup {
  one_of: GroupMember[];
}

export type RouteEntry = ChainEntry | EntryGroup;

export interface Route {
  id: string;
  object: 'route';
  chain: RouteEntry[];
  on_crash: 'rerun' | 'fail';
  /** Whether batches of the route are handed to the provider's own batch API. */
  provider_batches: boolean;
  created_at: string;
  /** Another one after every change. It is the ETag of the route. */
  version: string;
}

/** A route beside those of other workspaces. */
export interface PlacedRoute extends Route {
  workspace: string;
}

export interface Key {
  id: string;
  object: 'key';
  workspace: string;
  name: string;
  last_four: string;
  created_at: string;
  /** The person or token that issued or rotated the key. Null for a key from before this was recorded. */
  created_by: string | null;
  last_used_at: string | null;
  expires_at: string | null;
  /** The class of the key's requests that name no class. */
  priority: Priority;
  /** The highest class that a request may name. */
  max_priority: Priority;
}

/** The value is in this answer and nowhere else; it is left out when the key was there already. */
export interface IssuedKey extends Key {
  value?: string;
}

export interface RotatedKey extends Key {
  value: string;
  replaced: Key;
}

/** What the gateway knows of a value that somebody wants to use as a key. */
export interface KeySearch {
  object: 'key_search';
  state: 'unused' | 'issued' | 'revoked';
  key: Key | null;
  revoked_at: string | null;
}

export interface DirectoryOverview {
  object: 'directory';
  /** The providers that routes may name. */
  providers: string[];
  workspaces: Workspace[];
  routes: PlacedRoute[];
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
  object: 'model';
  provider: string;
  source?: string;
  overridden: boolean;
  /** Fields of requests that it does not take, or not every value of them. */
  refuses?: string[];
}

export interface ModelList extends List<Model> {
  registry: {
    version: string;
    origin: 'shipped' | 'operator';
    source: string;
    refreshed_at: string | null;
    last_scheduled: { at: string; problem: string | null } | null;
  };
}

export interface OfferedModel {
  id: string;
  object: 'model';
  provider: string;
  created: number;
}

export interface ModelOffer extends List<OfferedModel> {
  base_url: string;
}

export interface PresentedAttempt {
  provider: string;
  model: string;
  outcome: AttemptOutcome;
  status?: number;
  /** Absent: the provider was not called. */
  ms?: number;
  /** When the call was sent or the entry was passed over, after the request was accepted. */
  start_ms?: number;
  /** The provider's own words about a failure: cleaned, short, and without the prompt. */
  message?: string;
  /** Which field of the request the model does not take, in words. It was passed over for that. */
  why?: string;
  /** What was changed in the request for this model, in words. */
  adapted?: readonly string[];
  upstream_id?: string;
  /** It was no call, but a line of the provider's own batch, whose id is `upstream_id`. */
  via?: 'provider_batch';
  billed?: 'unknown';
  estimated_usd?: string;
  /** The most output tokens that the call may have written. Present only when the provider reports more than that. */
  allowed_output?: number;
}

export type TokenType = 'input' | 'cached_input' | 'cache_write' | 'cache_write_1h' | 'output';

export interface PresentedRequest {
  id: string;
  object: 'request';
  /** The request's place in the log. */
  cursor: string;
  accepted_at: string;
  settled_at: string;
  workspace: string;
  key_id: string;
  route: string | null;
  model: string;
  status: number;
  code: ErrorCode | 'cancelled' | null;
  /** Why the request was not served. Null: it was served, or an older version logged it. */
  reason: Reason | null;
  /** The same as a sentence. */
  reason_text: string | null;
  /** False: the request was refused before it was on a queue. */
  queued: boolean;
  /** More than 1: refusals that were logged together. */
  count: number;
  last_at: string;
  provider: string | null;
  provider_model: string | null;
  /** An entry of the chain other than the first served the request. */
  fallback_used: boolean;
  tags: Record<string, string>;
  /** The caller's own end user. */
  user: string | null;
  /** The time from accepting the request to settling it. */
  duration_ms: number;
  priority: Priority;
  queue_ms: number;
  latency_ms: number | null;
  attempts: PresentedAttempt[];
  usage: Record<TokenType, number> | null;
  cost_usd: string;
  cost_picodollars: string;
  /** `unknown`: nobody knows the bill of some calls that were sent. The cost does not include those calls. */
  billed: 'exact' | 'unknown';
  estimated_usd: string;
  estimated_picodollars: string;
  /** False: the request was served, but its price is not known. */
  priced: boolean;
  price: PriceOfCall | null;
}

export interface PriceOfCall extends Record<TokenType, number> {
  registry: string;
  model: string;
  tier: string;
  unit: 'picodollars_per_token';
  request?: number;
}

export interface RequestPage extends List<PresentedRequest> {
  has_more: boolean;
  next_before: string | null;
  /** False: PostgreSQL is away, or lacks entries that Redis no longer has. */
  complete: boolean;
  /** Why it is not complete, as a sentence. Null when it is. */
  problem: string | null;
}

export interface ProviderStatus {
  name: string;
  kind: string;
  /** The name of the price list that holds for the provider. */
  prices: string;
  waiting: number;
  /** How many of them wait for a limit per minute. */
  parked: number;
  max_backlog: number;
  oldest_waiting_ms: number;
  active: number;
  concurrency: number;
  paused: boolean;
  circuit: { state: 'closed' | 'failing' | 'open'; until: string | null };
  /** `model` is null for all models. `service_tier` is null for all tiers. */
  cool_downs: { model: string | null; service_tier: string | null; until: string; remaining_ms: number }[];
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

export interface CoolDown {
  object: 'cooldown';
  provider: string;
  model: string | null;
  service_tier: string | null;
  until: string;
  remaining_ms: number;
  asked_until: string;
}

/** One limit per minute, and how much of it is used now. */
export interface LimitUse {
  type: 'requests' | 'tokens' | 'input_tokens' | 'output_tokens';
  /** A pattern; null: all models. */
  models: string | null;
  limit: number;
  used: number;
}

/** One of several keys of a provider. */
export interface ProviderKeyInfo {
  name: string;
  /** Calls under way. */
  active: number;
  /** `limited`: left alone after a 429. `refused`: left alone after a 401 or 403. */
  state: 'open' | 'limited' | 'refused';
  /** Until when it is left alone. */
  until: string | null;
  weight: number | null;
  limits: LimitUse[];
}

/** A provider as it is configured, and how far its limits per minute are used. */
export interface ProviderInfo {
  object: 'provider';
  name: string;
  kind: string;
  /** Where chat calls go. */
  address: string;
  prices: string;
  /** `file`: gateway.yaml names it. `added`: it was added in the console or with `sluice providers set`. */
  source: 'file' | 'added';
  /**
   * The settings of an added provider as they were written, without keys, and with true instead of each header's value. Null
   * for one of the file, and for those who are no admins.
   */
  settings: Record<string, unknown> | null;
  /**
   * The variable of its key, or those of its keys; or `token_file`, `token_command`, `sigv4` or `none`. `stored`: the key was
   * given with an added provider, and is never shown.
   */
  credentials: string;
  concurrency: number;
  max_wait_ms: number;
  limits: LimitUse[];
  /** Empty when it has only one key. */
  keys: ProviderKeyInfo[];
}

export interface ProviderList extends List<ProviderInfo> {
  /** False: access.add_providers is false. */
  can_add: boolean;
}

/** What came of one real call of a provider. */
export interface ProviderVerdict {
  object: 'provider_test';
  provider: string;
  /** Null when none is known to try. */
  model: string | null;
  works: boolean;
  /** In words; null when it works. */
  problem: string | null;
  /** The status of the answer. Null when there was none. */
  status: number | null;
  ms: number;
}

export interface Reload {
  object: 'reload';
  time: string;
  /** How many processes were asked to read gateway.yaml again. */
  processes: number;
}

export interface Status {
  object: 'status';
  time: string;
  processes: ProcessStatus[];
  providers: ProviderStatus[];
  /** Null for somebody whose role holds in some workspaces only. The list of processes is empty then, too. */
  redis: {
    memory_used_bytes: number;
    memory_limit_bytes: number | null;
    request_log_entries: number;
    product: string;
    version: string;
    warnings: string[];
  } | null;
  /** Where workers copy the request log to, and how far the copy is behind. Null: nowhere. */
  copies: {
    /** `problem`: why the api that answers cannot read PostgreSQL, as a sentence. */
    postgres: { behind_ms: number; spilled_entries: number; problem: string | null } | null;
    files: { behind_ms: number } | null;
  };
  registry: { version: string; models: number };
}

export interface PresentedDurations {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export interface TrafficReport {
  object: 'traffic';
  since: string;
  until: string;
  /** Where the log begins, when it does not reach back as far as was asked. */
  log_begins: string | null;
  requests: number;
  /** A provider or the gateway could not serve them. */
  failed: number;
  /** Refused by a rule of the operator, or for a mistake of the caller. */
  refused: number;
  /** The caller did not wait for the answer. */
  cancelled: number;
  fallbacks: number;
  duration_ms: PresentedDurations;
  /** Why requests were not served. The most frequent reason comes first. */
  reasons: ReasonCount[];
  codes: { code: string; requests: number }[];
  bucket_seconds: number;
  buckets: { requests: number; failed: number; refused: number; duration_ms: PresentedDurations }[];
  routes: RouteTraffic[];
}

export interface ReasonCount {
  /** `other`: an older version logged them without a reason. */
  reason: Reason | 'other';
  text: string;
  kind: ReasonKind;
  requests: number;
}

/** Requests that were refused alike. Most of them have no entry in the request log. */
export interface RefusalCount {
  /** Null: the request had no known key. */
  workspace: string | null;
  key_id: string | null;
  reason: Reason;
  text: string;
  kind: ReasonKind;
  requests: number;
  /** The minutes of the first and the last of them in the range. */
  first_at: string;
  last_at: string;
}

export interface RefusalReport {
  object: 'refusals';
  since: string;
  until: string;
  requests: number;
  bucket_seconds: number;
  /** Refusals over the range. */
  buckets: number[];
  /** The most frequent first. */
  data: RefusalCount[];
  /** More rows than `data` has. */
  has_more: boolean;
}

export interface RouteTraffic {
  workspace: string;
  route: string;
  requests: number;
  failed: number;
  refused: number;
  fallbacks: number;
  /** One count for each entry of the chain, and for each member of its groups, in order. */
  served: number[];
  duration_ms: PresentedDurations;
}

/** The attempts of the latest requests, by entry or by provider, the most called first. */
export interface AttemptReport {
  object: 'attempts';
  since: string;
  until: string;
  /** How many requests were counted. */
  requests: number;
  /** False: there were more than are counted. */
  complete: boolean;
  bucket_seconds: number;
  entries: {
    provider: string;
    /** Null when they are summed by provider. */
    model: string | null;
    calls: number;
    /** Calls that were not answered well. Calls whose caller hung up are not counted. */
    failed: number;
    passed_over: number;
    outcomes: { outcome: AttemptOutcome; attempts: number }[];
    duration_ms: PresentedDurations;
    buckets: { calls: number; failed: number; p95: number | null }[];
  }[];
}

export interface SpendSums {
  requests: number;
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  cost_usd: string;
  cost_picodollars: string;
  unknown_bills: number;
  estimated_usd: string;
  estimated_picodollars: string;
}

export type SpendField =
  | 'workspace'
  | 'key'
  | 'route'
  | 'provider'
  | 'model'
  | 'day'
  | 'month'
  | `tag:${string}`;

/** Only the fields that the spend was summed by are present. The route is null for direct model ids. */
export interface PresentedSpend extends SpendSums, Partial<Record<SpendField, string | null>> {}

export interface Spend {
  object: 'spend';
  by: readonly SpendField[];
  data: PresentedSpend[];
  from: string;
  to: string;
  total: SpendSums;
  /** Whose days they are, such as `Europe/Berlin`. */
  time_zone: string;
  /** Whether there is PostgreSQL, which keys, tags and time zones come from. */
  archive: boolean;
  /** False: PostgreSQL has not got everything that Redis has no more. */
  complete: boolean;
  groups: number;
  /** The sums of all groups beyond `top`, one for each day. */
  others: PresentedSpend[];
}

/** A calendar month of UTC of a workspace: the budget that it had at its end, and what was spent. */
export interface BudgetMonth {
  object: 'budget_month';
  workspace: string;
  /** `2026-11`. */
  month: string;
  /** Null: the workspace had none, or the gateway did not record it yet. */
  budget_usd: number | null;
  spent_usd: string;
  spent_picodollars: string;
  /** What calls without a bill may have cost. `spent_usd` does not include it. */
  estimated_usd: string;
  estimated_picodollars: string;
}

/** A workspace's month. Every part sums up to the total. */
export interface Statement {
  object: 'statement';
  workspace: string;
  /** `2026-11`. */
  month: string;
  time_zone: string;
  complete: boolean;
  parts: { title: string; by: SpendField[]; data: PresentedSpend[] }[];
  total: SpendSums;
}

/** A batch in the format of the official SDKs, and what operators want to know beside it. Times are in seconds. */
export interface BatchView {
  id: string;
  object: 'batch';
  workspace: string;
  endpoint: string;
  status: string;
  errors: {
    object: 'list';
    data: { code: string; line: number | null; message: string; param: string | null }[];
  } | null;
  input_file_id: string;
  output_file_id: string | null;
  error_file_id: string | null;
  completion_window: string;
  created_at: number;
  in_progress_at: number | null;
  expires_at: number;
  finalizing_at: number | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
  request_counts: { total: number; completed: number; failed: number };
  usage: {
    input_tokens: number;
    input_tokens_details: { cached_tokens: number };
    output_tokens: number;
    output_tokens_details: { reasoning_tokens: number };
    total_tokens: number;
  };
  metadata: Record<string, string> | null;
  cost_usd: string;
  /** Lines that have been given to the queues. */
  fed: number;
  errors_by_code: Record<string, number>;
  /** Why no line is given to the queues at the moment. */
  waits_for: string | null;
  /** The part of the batch that is or was at the provider's own batch API. Null: no route of it asks for that. */
  provider_batches: {
    provider: string;
    model: string;
    /** When the first lines were handed over, in seconds. Null: none were. */
    since: number | null;
    /** Lines that were handed over, and those of them that the provider has ended. */
    lines: number;
    ended: number;
    /** The provider's ids of its batches, the newest ones. */
    ids: string[];
    /** Why lines run one by one instead. Null: they do not. */
    one_by_one: string | null;
  } | null;
}

/** Where a workspace is told how its batches and requests in the background ended. */
export interface WebhookView {
  id: string;
  object: 'webhook';
  workspace: string;
  url: string;
  events: string[];
  created_at: string;
}

/** `secret` is shown only now. */
export interface CreatedWebhook extends WebhookView {
  secret: string;
}

export interface WebhookDelivery {
  id: string;
  object: 'webhook_delivery';
  workspace: string;
  webhook: string;
  /** The id of the message, the same however often it is sent. */
  event_id: string;
  type: string;
  /** The id of the batch or request that the event is about. */
  subject: string;
  state: 'waiting' | 'delivered' | 'failed';
  attempts: number;
  created_at: string;
  last_attempt_at: string | null;
  /** How the last attempt went: a status, or a word such as `timeout`. */
  outcome: string | null;
  next_attempt_at: string | null;
}

export interface BudgetState {
  object: 'budget';
  workspace: string;
  /** `2026-11`, UTC. */
  month: string;
  budget_usd_per_month: number;
  spent_usd: string;
  estimated_usd: string;
  reserved_usd: string;
  left_usd: string;
  pace_usd_per_day: number;
  /** Since when the budget refuses every request. Null: it does not. */
  refusing_since: string | null;
}

export interface BudgetList extends List<BudgetState> {
  total: number;
}

/** A role and the workspaces in which it holds. Null: it holds in all workspaces and for the whole gateway. */
export interface PresentedGrant {
  role: Role;
  workspaces: readonly string[] | null;
}

/** The person who is signed in with a browser. */
export interface SignedIn {
  object: 'session';
  /** Null: nobody is signed in. */
  person: {
    name: string;
    way: 'token' | 'link' | 'oidc' | 'proxy';
    grants: PresentedGrant[];
    /** Null for somebody whom a proxy has signed in. */
    signed_in_at: string | null;
    expires_at: string | null;
  } | null;
  /** What the button says that leads to /sign-in/oidc. Null: there is no such sign-in. */
  oidc: string | null;
}

export interface SignInLink {
  object: 'sign_in_link';
  /** The path to append to the console's address. */
  path: string;
  expires_at: string;
}

export interface AdminToken {
  id: string;
  object: 'token';
  name: string;
  role: Role;
  /** Null: the token holds in all workspaces and for the whole gateway. */
  workspaces: readonly string[] | null;
  last_four: string;
  created_at: string;
  created_by: string;
  last_used_at: string | null;
  expires_at: string | null;
}

/** The value is in this answer and nowhere else. */
export interface IssuedToken extends AdminToken {
  value: string;
}

/** A browser that is signed in. */
export interface OpenSession {
  /** The audit trail names it as `credential`. */
  id: string;
  object: 'open_session';
  name: string;
  way: 'token' | 'link' | 'oidc';
  grants: PresentedGrant[];
  /** Where the sign-in came from. */
  address: string;
  signed_in_at: string;
  /** To within a minute. */
  seen_at: string;
  expires_at: string;
  /** The asker's own. */
  own: boolean;
}

/** A change, a sign-in, or an attempt at one of them. */
export interface AuditRecord {
  object: 'audit';
  /** The record's place in the audit trail. */
  cursor: string;
  at: string;
  /** `PUT /workspaces/{id}/routes/{alias}`, or `sign in by token`. */
  action: string;
  path: string;
  /** Null: the person is not known. */
  who: string | null;
  via: string | null;
  /** The id of a session or a token. */
  credential: string | null;
  address: string;
  request_id: string;
  workspace: string | null;
  /** 2xx: the action was carried out. */
  status: number;
  before: unknown;
  after: unknown;
}

export interface AuditPage extends List<AuditRecord> {
  has_more: boolean;
  next_before: string | null;
}
