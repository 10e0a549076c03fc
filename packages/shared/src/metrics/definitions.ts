/**
 * Every metric of the gateway. Names and labels are public: a rename breaks dashboards and alerts that others have
 * built. docs/metrics.md is made from this table.
 *
 * Labels are bounded. The operator configures providers. METRICS_TOP_WORKSPACES workspaces have a label of their own, and the
 * first fifty routes of each; the rest is `other`. A model that neither the registry nor a
 * route knows is `other`. A tag has its first hundred values. No label has a key, a user or a request id.
 */
export type ProcessRole = 'api' | 'worker';

export interface MetricDefinition {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** The processes that have the metric. */
  roles: readonly ProcessRole[];
  labels: readonly string[];
  help: string;
  /** The upper bounds of a histogram's buckets, in the metric's unit. */
  buckets?: readonly number[];
}

const API: readonly ProcessRole[] = ['api'];
const WORKER: readonly ProcessRole[] = ['worker'];
const BOTH: readonly ProcessRole[] = ['api', 'worker'];

/** The buckets of a whole request range from a refusal, which takes half a millisecond, to the longest deadline. */
const REQUEST_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
];
const OVERHEAD_SECONDS = [
  0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
];
const WAIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600];

export const METRICS = {
  httpRequests: {
    name: 'gateway_http_requests_total',
    type: 'counter',
    roles: API,
    labels: ['path', 'method', 'status', 'code'],
    help: 'Requests answered on the public listener. code is the error code, ok, or cancelled (status 499: the caller hung up).',
  },
  httpDuration: {
    name: 'gateway_http_request_duration_seconds',
    type: 'histogram',
    roles: API,
    labels: ['path'],
    help: 'From the request’s first byte to the end of its answer.',
    buckets: REQUEST_SECONDS,
  },
  requests: {
    name: 'gateway_requests_total',
    type: 'counter',
    roles: API,
    labels: ['workspace', 'route', 'outcome'],
    help: 'Chat requests by how they ended: ok, failed, refused (by a limit or a budget, or for a mistake of the caller) or left (the caller hung up). workspace is none for a request without a known key.',
  },
  unserved: {
    name: 'gateway_unserved_requests_total',
    type: 'counter',
    roles: API,
    labels: ['workspace', 'kind', 'reason'],
    help: 'Chat requests that were not served, by reason; docs/errors.md lists the reasons. kind is policy, caller, left or failed.',
  },
  requestSeconds: {
    name: 'gateway_request_seconds_total',
    type: 'counter',
    roles: API,
    labels: ['workspace', 'route'],
    help: 'Durations of served chat requests, summed. Divided by their number in gateway_requests_total it is their mean.',
  },
  httpInFlight: {
    name: 'gateway_http_requests_in_flight',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Requests that have come and are not answered yet.',
  },
  overhead: {
    name: 'gateway_overhead_seconds',
    type: 'histogram',
    roles: API,
    labels: [],
    help: 'What the gateway itself took: the whole request less its wait in the queue and the provider call. Only of requests served by one call.',
    buckets: OVERHEAD_SECONDS,
  },
  wrongKeys: {
    name: 'gateway_wrong_keys_total',
    type: 'counter',
    roles: API,
    labels: ['listener'],
    help: 'Requests refused because their key, or admin token, is wrong or has expired. listener is public or admin.',
  },
  signIns: {
    name: 'gateway_sign_ins_total',
    type: 'counter',
    roles: API,
    labels: ['way', 'outcome'],
    help: 'Sign-ins to the console, and wrong tokens of programs. way is token, link or oidc; outcome is done or refused.',
  },
  idempotentReplays: {
    name: 'gateway_idempotent_replays_total',
    type: 'counter',
    roles: API,
    labels: [],
    help: 'Requests answered with the answer to an earlier one with the same Idempotency-Key.',
  },
  cancelled: {
    name: 'gateway_cancelled_total',
    type: 'counter',
    roles: API,
    labels: ['state'],
    help: 'Requests whose caller hung up while they were waiting or running.',
  },
  jobsLost: {
    name: 'gateway_jobs_readded_total',
    type: 'counter',
    roles: API,
    labels: ['provider'],
    help: 'Jobs that Redis had lost while their callers waited, and that were added again.',
  },
  ghosts: {
    name: 'gateway_ghost_jobs_total',
    type: 'counter',
    roles: API,
    labels: ['provider'],
    help: 'Jobs that may have been added although their callers were refused, looked for and taken away.',
  },
  queueJobs: {
    name: 'gateway_queue_jobs',
    type: 'gauge',
    roles: API,
    labels: ['provider', 'state'],
    help: 'Jobs in a provider’s queue: waiting, prioritized (waiting behind quieter workspaces), parked (waiting for a limit per minute) or active. The same from every api process: use max, never sum.',
  },
  queueOldest: {
    name: 'gateway_queue_oldest_waiting_seconds',
    type: 'gauge',
    roles: API,
    labels: ['provider'],
    help: 'How long the job at the head of a provider’s queue has waited. The same from every api process.',
  },
  providerLimit: {
    name: 'gateway_provider_concurrency_limit',
    type: 'gauge',
    roles: API,
    labels: ['provider'],
    help: 'Calls that a provider may be sent at a time, over all workers.',
  },
  providerActive: {
    name: 'gateway_provider_active',
    type: 'gauge',
    roles: API,
    labels: ['provider'],
    help: 'Jobs of a provider that are being run, over all workers. The same from every api process.',
  },
  providerCoolDown: {
    name: 'gateway_provider_cooldown',
    type: 'gauge',
    roles: API,
    labels: ['provider'],
    help: '1 while a provider, or one of its models, is left alone after a 429.',
  },
  providerKeyActive: {
    name: 'gateway_provider_key_active',
    type: 'gauge',
    roles: API,
    labels: ['provider', 'account'],
    help: 'Calls under way with each key of a provider that has several; the account is the name of the key in gateway.yaml. The same from every api process.',
  },
  providerKeyBlocked: {
    name: 'gateway_provider_key_blocked',
    type: 'gauge',
    roles: API,
    labels: ['provider', 'account', 'reason'],
    help: '1 while one of several keys of a provider is left alone: limited (after a 429) or refused (401, 403).',
  },
  providerRateUsed: {
    name: 'gateway_provider_rate_used_ratio',
    type: 'gauge',
    roles: API,
    labels: ['provider', 'account', 'models', 'type'],
    help: 'How much of a limit per minute is used, 1 for all of it. The account is empty for a limit of the provider, and the models are empty for a limit of all models.',
  },
  circuitOpen: {
    name: 'gateway_provider_circuit_open',
    type: 'gauge',
    roles: API,
    labels: ['provider'],
    help: '1 while a provider’s circuit is open: it kept failing, and is only probed.',
  },
  batches: {
    name: 'gateway_batches_active',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Batches that are under way. The same from every api process.',
  },
  batchOldest: {
    name: 'gateway_batch_oldest_seconds',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Age of the oldest batch that is under way; at 24 hours it expires. The same from every api process.',
  },
  batchLines: {
    name: 'gateway_batch_lines_total',
    type: 'counter',
    roles: API,
    labels: ['outcome'],
    help: 'Lines of batches that have ended (answered, failed), and tries that ended with nothing decided (not_now).',
  },
  providerBatches: {
    name: 'gateway_provider_batches_active',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Parts of batches that are at providers’ own batch APIs. The same from every api process.',
  },
  providerBatchLines: {
    name: 'gateway_provider_batch_lines_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'outcome'],
    help: 'Lines at providers’ own batch APIs: handed_over, then merged with their answer or error, or left and run one by one.',
  },
  providerBatchSteps: {
    name: 'gateway_provider_batch_calls_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'result'],
    help: 'Steps with providers’ own batch APIs, such as asking how far a batch is: ok, failed and to be tried again, refused.',
  },
  webhooks: {
    name: 'gateway_webhook_deliveries_total',
    type: 'counter',
    roles: API,
    labels: ['outcome'],
    help: 'Messages to webhooks: delivered, failed and to be tried again, given_up after a day, dropped for newer ones or with their webhook.',
  },
  webhooksWaiting: {
    name: 'gateway_webhook_deliveries_waiting',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Messages to webhooks that wait for their first or next attempt. The same from every api process.',
  },
  workers: {
    name: 'gateway_workers',
    type: 'gauge',
    roles: API,
    labels: [],
    help: 'Worker processes that have been heard of in the last seconds. The same from every api process.',
  },
  redisUp: {
    name: 'gateway_redis_up',
    type: 'gauge',
    roles: API,
    labels: [],
    help: '1 while Redis answers this process.',
  },
  redisWorry: {
    name: 'gateway_redis_worry',
    type: 'gauge',
    roles: API,
    labels: ['reason'],
    help: '1 while Redis can lose accepted requests, or refuses new ones: no_append_only_file, eviction, disk (it cannot write to its disk), full, replica, or no_replicas (min-replicas-to-write). The same from every api process.',
  },
  connectionsDropped: {
    name: 'gateway_connections_dropped_total',
    type: 'counter',
    roles: API,
    labels: [],
    help: 'Connections that were closed at once because the process has too many, or is short of file descriptors.',
  },
  ledgerCost: {
    name: 'gateway_ledger_cost_usd_total',
    type: 'counter',
    roles: API,
    labels: ['workspace'],
    help: 'What the ledger in Redis says a workspace has spent. The truth that gateway_cost_usd_total estimates. The same from every api process.',
  },
  monthCost: {
    name: 'gateway_workspace_month_cost_usd',
    type: 'gauge',
    roles: API,
    labels: ['workspace'],
    help: 'What a workspace has spent this month (UTC), by the ledger. The same from every api process.',
  },
  monthEstimated: {
    name: 'gateway_workspace_month_estimated_usd',
    type: 'gauge',
    roles: API,
    labels: ['workspace'],
    help: 'What calls of this month (UTC) may have cost whose bill nobody knows, by the ledger. It counts against the budget and is no part of gateway_workspace_month_cost_usd. The same from every api process.',
  },
  budget: {
    name: 'gateway_workspace_budget_usd',
    type: 'gauge',
    roles: API,
    labels: ['workspace'],
    help: 'Monthly budget of a workspace that has one.',
  },
  refusingSince: {
    name: 'gateway_workspace_refusing_since_seconds',
    type: 'gauge',
    roles: API,
    labels: ['workspace'],
    help: 'Since when the monthly budget of a workspace refuses every request, as a Unix time. Absent: it does not. The same from every api process.',
  },
  rateLimited: {
    name: 'gateway_rate_limited_total',
    type: 'counter',
    roles: BOTH,
    labels: ['provider', 'reason'],
    help: 'Limits met: upstream (a 429), cooldown (after one), concurrency (the wait ran out), backlog (too many waiting), workspace (its own limits, with provider none).',
  },
  fallbacks: {
    name: 'gateway_fallbacks_total',
    type: 'counter',
    roles: BOTH,
    labels: ['route', 'from', 'to', 'reason'],
    help: 'Requests that went on to the next entry of their route. from and to are providers.',
  },
  queueWait: {
    name: 'gateway_queue_wait_seconds',
    type: 'histogram',
    roles: WORKER,
    labels: ['provider', 'priority'],
    help: 'From being put on a provider’s queue to being taken by a worker. priority is the class of the request.',
    buckets: WAIT_SECONDS,
  },
  providerRequests: {
    name: 'gateway_provider_requests_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model', 'outcome'],
    help: 'Provider calls. outcome is ok or how the call failed; unknown is a call that a worker died in.',
  },
  providerDuration: {
    name: 'gateway_provider_request_duration_seconds',
    type: 'histogram',
    roles: WORKER,
    labels: ['provider', 'model'],
    help: 'Duration of provider calls, failed ones included.',
    buckets: CALL_SECONDS,
  },
  firstToken: {
    name: 'gateway_provider_first_token_seconds',
    type: 'histogram',
    roles: WORKER,
    labels: ['provider', 'model'],
    help: 'From a call to the first piece of its answer, where answers are read in pieces (upstream_stream).',
    buckets: CALL_SECONDS,
  },
  keptTogether: {
    name: 'gateway_warm_prefix_requests_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model', 'result'],
    help: 'Served requests that were kept together with others whose prompts begin alike. result is hit, if a part of the prompt came from the cache, or miss.',
  },
  tokens: {
    name: 'gateway_tokens_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model', 'type'],
    help: 'Tokens of served requests. The types input, cached_input, cache_write and output are disjoint.',
  },
  cost: {
    name: 'gateway_cost_usd_total',
    type: 'counter',
    roles: WORKER,
    labels: ['workspace', 'route', 'provider', 'model'],
    help: 'Provider cost of served requests; route is (direct) for a request by model id.',
  },
  unknownBills: {
    name: 'gateway_unknown_bills_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model'],
    help: 'Calls that were sent and whose bill nobody knows: no whole answer came, or it named no usage or price.',
  },
  usageBeyondLimit: {
    name: 'gateway_usage_beyond_limit_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model'],
    help: 'Calls for which the provider reports more output tokens than max_tokens allowed. They are booked as reported.',
  },
  estimatedCost: {
    name: 'gateway_estimated_cost_usd_total',
    type: 'counter',
    roles: WORKER,
    labels: ['workspace', 'route', 'provider', 'model'],
    help: 'What those calls may have cost. It is no part of gateway_cost_usd_total.',
  },
  unpriced: {
    name: 'gateway_unpriced_requests_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model'],
    help: 'Served requests whose model has no known price, so that they count as 0 USD.',
  },
  reportedCosts: {
    name: 'gateway_reported_costs_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'model', 'result'],
    help: 'Costs that a provider with cost: reported has told: same or differs (by more than a hundredth from the price list), unlisted (the list has no price), refused (it cannot be true, and the list’s price is booked).',
  },
  jobsRecovered: {
    name: 'gateway_jobs_recovered_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider'],
    help: 'Jobs taken over from a worker that died or froze.',
  },
  jobsQuarantined: {
    name: 'gateway_jobs_quarantined_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider'],
    help: 'Jobs not run again because they had taken two workers with them.',
  },
  answerChecks: {
    name: 'gateway_answer_checks_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'result'],
    help: 'Answers checked against the caller’s JSON schema: fits, unfit, or unchecked (the schema is none, or would have taken too much).',
  },
  configReloads: {
    name: 'gateway_config_reloads_total',
    type: 'counter',
    roles: BOTH,
    labels: ['result'],
    help: 'How often gateway.yaml was read again: changed or unchanged providers, or failed (the configuration before it stays in force).',
  },
  configFaulty: {
    name: 'gateway_config_faulty',
    type: 'gauge',
    roles: BOTH,
    labels: [],
    help: '1 while gateway.yaml has mistakes and an older configuration is in force.',
  },
  tokenFetches: {
    name: 'gateway_provider_token_fetches_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider', 'result'],
    help: 'How often the token of a provider was fetched from its file or command: ok or failed.',
  },
  lateResults: {
    name: 'gateway_late_results_total',
    type: 'counter',
    roles: WORKER,
    labels: ['provider'],
    help: 'Results refused because the request had been settled by somebody else meanwhile.',
  },
  tagCost: {
    name: 'gateway_tag_cost_usd_total',
    type: 'counter',
    roles: WORKER,
    labels: ['workspace', 'tag', 'value'],
    help: 'What requests with a tag cost, for the tags of request_log.metric_tags. A value beyond the first hundred of its tag counts as other.',
  },
  archiveWritten: {
    name: 'gateway_archive_written_total',
    type: 'counter',
    roles: WORKER,
    labels: [],
    help: 'Entries of the request log that were written to PostgreSQL.',
  },
  archiveFailures: {
    name: 'gateway_archive_failures_total',
    type: 'counter',
    roles: WORKER,
    labels: [],
    help: 'Times that writing to PostgreSQL failed. The entries wait in Redis.',
  },
  archiveRefused: {
    name: 'gateway_archive_refused_entries_total',
    type: 'counter',
    roles: WORKER,
    labels: [],
    help: 'Entries that PostgreSQL did not take as they were; they are in its table refused_entries.',
  },
  archiveLag: {
    name: 'gateway_archive_lag_seconds',
    type: 'gauge',
    roles: WORKER,
    labels: [],
    help: 'Age of the oldest entry of the request log that is not in PostgreSQL yet. The same from every worker.',
  },
  archiveSpilled: {
    name: 'gateway_archive_spilled_entries',
    type: 'gauge',
    roles: WORKER,
    labels: [],
    help: 'Entries on this worker’s disk that PostgreSQL has still to take.',
  },
  logFilesLag: {
    name: 'gateway_log_files_lag_seconds',
    type: 'gauge',
    roles: WORKER,
    labels: [],
    help: 'Age of the oldest entry of the request log that is in none of the files of LOG_FILES. Up to an hour is normal, because an hour is written when it is over. The same from every worker.',
  },
  buildInfo: {
    name: 'gateway_build_info',
    type: 'gauge',
    roles: BOTH,
    labels: ['version', 'role'],
    help: 'Always 1; its labels say what runs.',
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricKey = keyof typeof METRICS;
