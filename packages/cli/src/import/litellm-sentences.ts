/** Tells an operator what to do instead of the settings of LiteLLM that have no counterpart in gateway.yaml. */
import type { Sentences } from './foreign-file.js';

const CALLBACKS =
  'Sluice has no callbacks. It has metrics, traces and a request log of its own: docs/metrics.md.';
const REDIS = 'Sluice finds its Redis by the variable REDIS_URL.';
const PRICE = 'Prices are not in gateway.yaml. Set them with "sluice models set".';
const CACHE = 'Sluice keeps answers only for an Idempotency-Key. It has no cache of answers.';

export const DEFAULT_PARAMETER =
  'A parameter that LiteLLM adds to every request has no counterpart. Callers send it themselves.';

export const MAX_TOKENS =
  'Callers may ask for no more than this, and those who ask for nothing get it. In LiteLLM it is a default.';
export const COOLDOWN =
  'This is only for a 429 that names no time. After other failures the circuit opens: circuit_failures, circuit_open_ms.';

const TOKEN =
  'A credential belongs in auth of the provider, as token_file or token_command: docs/providers.md.';
const RATE =
  'A wildcard has no limit of its own. Deployments with the same provider, model and key share the first limit. Set limits of the provider by hand.';
const ENTRY =
  'This was not taken over, because Sluice has it once for each entry of a route. Set it by hand.';
const ADDRESS = 'The preset has an address of its own. Set base_url or query of the provider by hand.';

/** Also about settings that are taken over in most places, for the others. */
export const ABOUT_PARAMS: Sentences = {
  rpm: RATE,
  tpm: RATE,
  timeout: ENTRY,
  max_tokens: ENTRY,
  max_retries: ENTRY,
  num_retries: ENTRY,
  weight: ENTRY,
  additional_drop_params: 'Name these fields under drop of the entry.',
  api_base: ADDRESS,
  base_url: ADDRESS,
  api_version: ADDRESS,
  api_key: TOKEN,
  azure_ad_token: TOKEN,
  tenant_id: TOKEN,
  client_id: TOKEN,
  client_secret: TOKEN,
  azure_username: TOKEN,
  azure_password: TOKEN,
  order:
    'Deployments of one name share the requests. Take those that come later out of the group: they are the next entries.',
  stream_timeout:
    'Sluice does not stream to callers; stall_timeout_ms is for answers that it reads in pieces itself.',
  input_cost_per_token: PRICE,
  output_cost_per_token: PRICE,
  extra_headers:
    'Headers may hold secrets, so they were not copied. Write those without secrets under headers of the provider.',
  drop_params: 'docs/translation.md lists what Sluice drops and what it refuses for each provider.',
  tags: 'Sluice does not route by tags. Give each team a workspace with routes of its own.',
  vertex_credentials: 'Sluice gets its token from gcloud, a file or a command: docs/providers.md.',
};

const WINDOW = 'Sluice has a list of models with their windows. Correct it with "sluice models set".';

export const ABOUT_INFO: Sentences = {
  input_cost_per_token: PRICE,
  output_cost_per_token: PRICE,
  base_model:
    'Sluice finds prices by the name that is called. Set those of this deployment with "sluice models set".',
  max_tokens: WINDOW,
  max_input_tokens: WINDOW,
  max_output_tokens: WINDOW,
  access_groups: 'Set models of a workspace to what its callers may name.',
};

export const BUDGET_OF_DEFAULT =
  'This became the budget of the workspace default alone. Set budget_usd_per_month of the other workspaces by hand.';
export const CALLBACKS_PER_TEAM = 'Callbacks per team have no counterpart in Sluice.';

export const ABOUT_TEAM: Sentences = {
  models: 'Set models of this workspace to what its callers may name.',
  rpm_limit: 'Set requests_per_minute in the limits of this workspace.',
  tpm_limit: 'Set tokens_per_minute in the limits of this workspace.',
  max_parallel_requests: 'Set concurrent_requests in the limits of this workspace.',
  team_alias: 'A workspace has an id and no other name.',
  success_callback: CALLBACKS,
  failure_callback: CALLBACKS,
};

export const ABOUT_SETTINGS: Sentences = {
  callbacks: CALLBACKS,
  success_callback: CALLBACKS,
  failure_callback: CALLBACKS,
  service_callback: CALLBACKS,
  cache: CACHE,
  cache_params: CACHE,
  drop_params: 'docs/translation.md lists what Sluice drops and what it refuses for each provider.',
  set_verbose: 'Set LOG_LEVEL=debug instead.',
  json_logs: 'Sluice logs JSON wherever it does not run on a terminal.',
  telemetry: 'Sluice sends nothing to anybody.',
  content_policy_fallbacks:
    'A refusal by the model is an answer. Sluice does not go on to another entry for it.',
  allowed_fails: 'The circuit of a provider opens after circuit_failures failures in a row.',
  default_team_params: 'Sluice has no defaults for new workspaces. Set limits and models of each one.',
  default_internal_user_params: 'Budgets are those of workspaces. Create one for each user or team.',
};

export const ABOUT_ROUTER: Sentences = {
  routing_strategy:
    'Sluice chooses among the deployments of one name by their weights, and among keys by the fewest calls.',
  allowed_fails: 'The circuit of a provider opens after circuit_failures failures in a row.',
  redis_host: REDIS,
  redis_port: REDIS,
  redis_password: REDIS,
  redis_url: REDIS,
  enable_pre_call_checks:
    'Sluice does not count tokens beforehand. Where a provider finds the prompt too long, the chain goes on.',
  enable_tag_filtering: 'Sluice does not route by tags. Give each team a workspace with routes of its own.',
  max_fallbacks: 'A chain ends with its last entry.',
  content_policy_fallbacks:
    'A refusal by the model is an answer. Sluice does not go on to another entry for it.',
};

export const ABOUT_GENERAL: Sentences = {
  master_key: 'Sluice has two keys instead: ADMIN_TOKEN operates it, and the keys of workspaces call it.',
  database_url:
    'Set DATABASE_URL to keep the request log in PostgreSQL. Keys, routes and budgets are in Redis.',
  coordination_redis: REDIS,
  otel: 'Set OTEL_EXPORTER_OTLP_ENDPOINT to send traces.',
  alerting: 'Sluice ships alerts for Prometheus: docs/runbook.md.',
  background_health_checks:
    'Sluice calls a provider only for requests. Its circuit and its cool-downs say how it is.',
  health_check_interval:
    'Sluice calls a provider only for requests. Its circuit and its cool-downs say how it is.',
  max_parallel_requests: 'Set concurrent_requests in the limits of a workspace.',
  pass_through_endpoints: 'Sluice passes nothing through. It serves its own paths only.',
};

export const ABOUT_FILE: Sentences = {
  environment_variables:
    'Set these variables in the environment of the processes. Their values were not copied.',
  guardrails: 'Sluice has no guardrails.',
  mcp_servers: 'Sluice is no MCP gateway.',
  include: 'Import the included files one by one.',
};
