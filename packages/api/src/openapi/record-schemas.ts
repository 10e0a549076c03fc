import * as s from './parts.js';

const price = { type: 'number', minimum: 0, description: 'USD per million tokens.' };
const prices = s.object(
  { input: price, output: price },
  { cached_input: price, cache_write: price, cache_write_1h: price },
);
const serviceTiers = { type: 'object', additionalProperties: prices };
const longContext = s.arrayOf(s.object({ above: s.whole, prices }, { service_tiers: serviceTiers }));
const facts = {
  fee_per_request: price,
  long_context: longContext,
  service_tiers: serviceTiers,
  context_window: s.whole,
  max_output_tokens: s.whole,
  capabilities: s.arrayOf(s.text),
  deprecated: s.text,
  as_of: s.text,
};

const diff = s.object({
  from: s.text,
  to: s.text,
  models: s.whole,
  added: s.arrayOf(s.text),
  removed: s.arrayOf(s.text),
  changed: s.arrayOf(s.text),
  wild: s.arrayOf(s.object({ model: s.text, price: s.oneOf('input', 'output'), from: price, to: price })),
  counts: s.object({ added: s.whole, removed: s.whole, changed: s.whole, wild: s.whole }),
  reasons: s.arrayOf(s.text),
});
const refresh = { object: { const: 'refresh' }, applied: s.flag, version: s.text, diff };

const sums = {
  requests: { ...s.whole, description: 'Served ones.' },
  input_tokens: s.whole,
  cached_input_tokens: s.whole,
  cache_write_tokens: s.whole,
  output_tokens: s.whole,
  cost_usd: s.usd,
  cost_picodollars: s.picodollars,
  unknown_bills: { ...s.whole, description: 'Calls that were sent and whose bill nobody knows.' },
  estimated_usd: { ...s.usd, description: 'What those may have cost. It is no part of the cost.' },
  estimated_picodollars: s.picodollars,
};

const spendRow = {
  ...s.object(sums, {
    workspace: s.text,
    key: s.text,
    route: s.textOrNull,
    provider: s.text,
    model: s.text,
    day: s.text,
    month: s.text,
  }),
  patternProperties: { '^tag:': s.textOrNull },
};

const reasonCount = s.object({
  reason: s.text,
  text: s.text,
  kind: s.oneOf('policy', 'caller', 'left', 'failed'),
  requests: s.whole,
});
const durations = s.object({ p50: s.wholeOrNull, p95: s.wholeOrNull, p99: s.wholeOrNull });
const perToken = s.whole;
const usage = {
  input: s.whole,
  cached_input: s.whole,
  cache_write: s.whole,
  cache_write_1h: s.whole,
  output: s.whole,
};

const role = s.oneOf('viewer', 'operator', 'admin');
const granted = {
  role,
  workspaces: {
    ...s.orNull(s.arrayOf(s.text)),
    description: 'Null: all of them, and the gateway as a whole.',
  },
};
const grant = s.object(granted);
const adminToken = {
  id: s.text,
  object: { const: 'token' },
  name: s.text,
  ...granted,
  last_four: s.text,
  created_at: s.moment,
  created_by: s.text,
  last_used_at: { ...s.momentOrNull, description: 'To within a minute.' },
  expires_at: s.momentOrNull,
};

const limitUse = s.object({
  type: s.oneOf('requests', 'tokens', 'input_tokens', 'output_tokens'),
  models: { ...s.textOrNull, description: 'A pattern; null for all models.' },
  limit: { ...s.whole, description: 'Per minute.' },
  used: { ...s.whole, description: 'Of the last minute, calls under way included.' },
});

export const recordSchemas = {
  Model: s.object(
    {
      id: s.text,
      object: { const: 'model' },
      provider: s.text,
      prices,
      overridden: s.flag,
    },
    { ...facts, source: s.text },
  ),
  ModelOverride: s.object({ prices }, facts),
  Registry: s.object({
    version: s.text,
    origin: s.oneOf('shipped', 'operator'),
    source: s.text,
    refreshed_at: s.momentOrNull,
    last_scheduled: s.orNull(s.object({ at: s.moment, problem: s.textOrNull })),
  }),
  RefreshInput: s.object(
    {},
    {
      url: { ...s.text, description: 'Where to fetch the document.' },
      document: { type: 'object', description: 'The document itself: our shape, or LiteLLM’s price map.' },
      confirm: { ...s.flag, description: 'Apply it although it drops models or changes prices wildly.' },
      dry_run: { ...s.flag, description: 'Only tell what it would change.' },
    },
  ),
  Refresh: s.object(refresh),
  RefreshRefused: s.object({ error: s.ref('ErrorDetail') }, refresh),
  Request: s.object({
    id: s.text,
    object: { const: 'request' },
    cursor: s.text,
    accepted_at: s.moment,
    settled_at: s.moment,
    workspace: s.text,
    key_id: s.text,
    route: s.textOrNull,
    model: s.text,
    status: s.whole,
    code: { ...s.textOrNull, description: 'An error code, or `cancelled` when the caller hung up.' },
    reason: {
      ...s.textOrNull,
      description: 'Why it was not served, one of the reasons in docs/errors.md.',
    },
    reason_text: { ...s.textOrNull, description: 'The same as a sentence.' },
    queued: { ...s.flag, description: 'False: it was refused before it was on a queue.' },
    count: {
      ...s.whole,
      description:
        'How many requests the entry stands for. More than 1: refusals that were logged together; the other fields are those of the first.',
    },
    last_at: { ...s.moment, description: 'When the last of them ended.' },
    provider: s.textOrNull,
    provider_model: s.textOrNull,
    fallback_used: {
      type: 'boolean',
      description:
        'Another entry of the chain than the first served it, or another member of a group than the chosen one.',
    },
    priority: { ...s.oneOf('interactive', 'normal', 'background'), description: 'Its class.' },
    tags: { type: 'object', additionalProperties: s.text },
    user: { ...s.textOrNull, description: 'The caller’s own end user.' },
    duration_ms: { type: 'number', minimum: 0, description: 'From accepted to settled.' },
    queue_ms: { type: 'number', minimum: 0 },
    latency_ms: { type: ['number', 'null'], minimum: 0 },
    attempts: s.arrayOf(
      s.object(
        {
          provider: s.text,
          model: s.text,
          outcome: s.text,
        },
        {
          status: s.whole,
          ms: { type: 'number', minimum: 0 },
          start_ms: {
            ...s.whole,
            description:
              'When the call was sent or the entry passed over, in ms after the request was accepted.',
          },
          message: { ...s.text, description: 'The provider’s own words, cleaned, without the prompt.' },
          adapted: {
            ...s.arrayOf(s.text),
            description: 'What was changed in the request for this model.',
          },
          upstream_id: s.text,
          via: { const: 'provider_batch' },
          billed: { const: 'unknown' },
          estimated_usd: s.usd,
          allowed_output: {
            ...s.whole,
            description:
              'The most output tokens that the call may have written. Only there when the provider reports more than that.',
          },
        },
      ),
    ),
    usage: s.orNull(s.object(usage)),
    cost_usd: s.usd,
    cost_picodollars: s.picodollars,
    billed: {
      ...s.oneOf('exact', 'unknown'),
      description: '`unknown`: calls were sent whose bill nobody knows.',
    },
    estimated_usd: { ...s.usd, description: 'What those calls may have cost. It is no part of the cost.' },
    estimated_picodollars: s.picodollars,
    priced: s.flag,
    price: s.orNull(
      s.object(
        {
          registry: s.text,
          model: s.text,
          tier: s.text,
          unit: { const: 'picodollars_per_token' },
          input: perToken,
          cached_input: perToken,
          cache_write: perToken,
          cache_write_1h: perToken,
          output: perToken,
        },
        { request: { ...s.whole, description: 'Picodollars for each request.' } },
      ),
    ),
  }),
  Spend: s.object({
    object: { const: 'spend' },
    from: s.text,
    to: s.text,
    time_zone: s.text,
    archive: { ...s.flag, description: 'Whether keys, tags and time zones may be asked for.' },
    complete: s.flag,
    by: s.arrayOf(s.text),
    data: s.arrayOf(spendRow),
    groups: { ...s.whole, description: 'How many groups there are, whatever the day.' },
    others: { ...s.arrayOf(spendRow), description: 'What the groups beyond `top` come to.' },
    total: s.object(sums),
  }),
  Statement: s.object({
    object: { const: 'statement' },
    workspace: s.text,
    month: s.text,
    time_zone: s.text,
    complete: s.flag,
    parts: s.arrayOf(s.object({ title: s.text, by: s.arrayOf(s.text), data: s.arrayOf(spendRow) })),
    total: s.object(sums),
  }),
  BudgetMonth: s.object({
    object: { const: 'budget_month' },
    workspace: s.text,
    month: s.text,
    budget_usd: {
      type: ['number', 'null'],
      description: 'The budget at the end of the month. Null: none, or it was not recorded yet.',
    },
    spent_usd: s.usd,
    spent_picodollars: s.text,
    estimated_usd: { ...s.usd, description: 'What calls may have cost whose bill nobody knows.' },
    estimated_picodollars: s.text,
  }),
  Budget: s.object({
    object: { const: 'budget' },
    workspace: s.text,
    month: s.text,
    budget_usd_per_month: { type: 'number' },
    spent_usd: s.usd,
    estimated_usd: { ...s.usd, description: 'What calls may have cost whose bill nobody knows.' },
    reserved_usd: s.usd,
    left_usd: s.usd,
    pace_usd_per_day: {
      type: 'number',
      description: 'Over the last seven days, or since the first of them on which anything was spent.',
    },
    refusing_since: { ...s.momentOrNull, description: 'Since when it refuses every request.' },
  }),
  CatalogueEntry: s.object({ id: s.text, object: { const: 'model' }, created: s.whole, provider: s.text }),
  Refusals: s.object({
    object: { const: 'refusals' },
    since: s.moment,
    until: s.moment,
    requests: s.whole,
    bucket_seconds: { type: 'number' },
    buckets: { ...s.arrayOf(s.whole), description: 'Refusals over the range.' },
    data: s.arrayOf(
      s.object({
        workspace: { ...s.textOrNull, description: 'Null: the request had no known key.' },
        key_id: s.textOrNull,
        reason: s.text,
        text: s.text,
        kind: s.oneOf('policy', 'caller', 'left', 'failed'),
        requests: s.whole,
        first_at: { ...s.moment, description: 'The minute of the first of them in the range.' },
        last_at: s.moment,
      }),
    ),
    has_more: s.flag,
  }),
  Traffic: s.object({
    object: { const: 'traffic' },
    since: s.moment,
    until: s.moment,
    log_begins: {
      ...s.momentOrNull,
      description: 'Where the request log begins; before it nothing is counted.',
    },
    requests: s.whole,
    failed: { ...s.whole, description: 'A provider or the gateway could not serve them.' },
    refused: {
      ...s.whole,
      description: 'Refused by a rule of the operator, or for a mistake of the caller.',
    },
    cancelled: { ...s.whole, description: 'Their callers did not wait for the answer.' },
    fallbacks: { ...s.whole, description: 'Served by another entry than the first.' },
    duration_ms: durations,
    reasons: { ...s.arrayOf(reasonCount), description: 'Why requests were not served, most first.' },
    codes: s.arrayOf(s.object({ code: s.text, requests: s.whole })),
    bucket_seconds: { type: 'number' },
    buckets: s.arrayOf(
      s.object({ requests: s.whole, failed: s.whole, refused: s.whole, duration_ms: durations }),
    ),
    routes: s.arrayOf(
      s.object({
        workspace: s.text,
        route: s.text,
        requests: s.whole,
        failed: s.whole,
        refused: s.whole,
        fallbacks: s.whole,
        duration_ms: durations,
        served: {
          ...s.arrayOf(s.whole),
          description: 'By entry and member of a group, in the order of the chain.',
        },
      }),
    ),
  }),
  Queue: s.object({ object: { const: 'queue' }, provider: s.text, paused: s.flag }),
  Provider: s.object({
    object: { const: 'provider' },
    name: s.text,
    kind: s.text,
    address: s.text,
    prices: s.text,
    source: {
      ...s.oneOf('file', 'added'),
      description: 'Added: it is not in gateway.yaml, but was added by PUT /providers/{provider}.',
    },
    settings: s.orNull({
      type: 'object',
      description:
        'The settings of an added provider as they were written, for admins of the gateway. Its keys are not among them, and a header says only that it is set: true.',
    }),
    credentials: {
      ...s.text,
      description:
        'The variable of its key, or token_file, token_command, sigv4 or none. Stored: the key of an added provider, which is never shown.',
    },
    concurrency: s.whole,
    max_wait_ms: s.whole,
    limits: s.arrayOf(limitUse),
    keys: {
      ...s.arrayOf(
        s.object({
          name: s.text,
          active: { ...s.whole, description: 'Calls under way.' },
          state: {
            ...s.oneOf('open', 'limited', 'refused'),
            description: 'Limited: left alone after a 429. Refused: left alone after a 401 or 403.',
          },
          until: s.momentOrNull,
          weight: s.wholeOrNull,
          limits: s.arrayOf(limitUse),
        }),
      ),
      description: 'Empty when it has only one key.',
    },
  }),
  ProviderTest: s.object({
    object: { const: 'provider_test' },
    provider: s.text,
    model: s.textOrNull,
    works: s.flag,
    problem: s.textOrNull,
    status: s.wholeOrNull,
    ms: s.whole,
  }),
  Reload: s.object({ object: { const: 'reload' }, time: s.moment, processes: s.whole }),
  CoolDown: s.object({
    object: { const: 'cooldown' },
    provider: s.text,
    model: { ...s.textOrNull, description: 'Null: all models of the provider.' },
    service_tier: { ...s.textOrNull, description: 'Null: all tiers.' },
    until: s.moment,
    remaining_ms: { ...s.whole, description: '0: it is probed.' },
    asked_until: { ...s.moment, description: 'What the provider asked for.' },
  }),
  Session: s.object({
    object: { const: 'session' },
    person: s.orNull(
      s.object({
        name: s.text,
        way: s.oneOf('token', 'link', 'oidc', 'proxy'),
        grants: s.arrayOf(grant),
        signed_in_at: { ...s.momentOrNull, description: 'Null for somebody whom a proxy has signed in.' },
        expires_at: s.momentOrNull,
      }),
    ),
    oidc: {
      ...s.textOrNull,
      description: 'What the button says that leads to /sign-in/oidc. Null: there is no such sign-in.',
    },
  }),
  AttemptReport: s.object({
    object: { const: 'attempts' },
    since: s.moment,
    until: s.moment,
    requests: { ...s.whole, description: 'How many requests were counted.' },
    complete: { ...s.flag, description: 'False: there were more, or some could not be read.' },
    bucket_seconds: { type: 'number', minimum: 0 },
    entries: s.arrayOf(
      s.object({
        provider: s.text,
        model: { ...s.textOrNull, description: 'Null when summed by provider.' },
        calls: s.whole,
        failed: s.whole,
        passed_over: s.whole,
        outcomes: s.arrayOf(s.object({ outcome: s.text, attempts: s.whole })),
        duration_ms: durations,
        buckets: s.arrayOf(s.object({ calls: s.whole, failed: s.whole, p95: s.wholeOrNull })),
      }),
    ),
  }),
  OpenSession: s.object({
    id: { ...s.text, description: 'The audit trail names it as `credential`.' },
    object: { const: 'open_session' },
    name: s.text,
    way: s.oneOf('token', 'link', 'oidc'),
    grants: s.arrayOf(grant),
    address: { ...s.text, description: 'Where the sign-in came from.' },
    signed_in_at: s.moment,
    seen_at: { ...s.moment, description: 'To within a minute.' },
    expires_at: s.moment,
    own: { ...s.flag, description: 'It is the one that asks.' },
  }),
  AdminToken: s.object(adminToken),
  IssuedToken: s.object({
    ...adminToken,
    value: { ...s.text, description: 'The token itself. Shown here and never again.' },
  }),
  TokenInput: s.object(
    { name: s.matching(/^\P{C}{1,128}$/u), role },
    {
      workspaces: s.orNull({
        ...s.arrayOf(s.matching(/^[a-z0-9][a-z0-9_-]{0,62}$/)),
        minItems: 1,
        maxItems: 100,
      }),
      expires_at: s.momentOrNull,
    },
  ),
  Audit: s.object({
    object: { const: 'audit' },
    cursor: s.text,
    at: s.moment,
    action: s.text,
    path: s.text,
    who: { ...s.textOrNull, description: 'Null: nobody knows.' },
    via: s.textOrNull,
    credential: { ...s.textOrNull, description: 'Id of a session or a token.' },
    address: s.text,
    request_id: s.text,
    workspace: s.textOrNull,
    status: { ...s.whole, description: '2xx: it was done.' },
    before: s.orNull({ type: 'object' }),
    after: s.orNull({ type: 'object' }),
  }),
  SignInInput: s.object(
    {},
    { token: s.matching(/^[!-~]+(?: [!-~]+)*$/), link: s.matching(/^[\w-]{1,200}$/) },
  ),
  SignInLink: s.object({
    object: { const: 'sign_in_link' },
    path: { ...s.text, description: 'To be put behind the console’s address.' },
    expires_at: s.moment,
  }),
  LiftedCoolDowns: s.object({
    object: { const: 'cooldown' },
    provider: s.text,
    model: s.textOrNull,
    lifted: s.whole,
  }),
  Status: s.object({
    object: { const: 'status' },
    time: s.moment,
    processes: s.arrayOf(
      s.object({
        id: s.text,
        role: s.oneOf('api', 'worker'),
        host: s.text,
        pid: s.whole,
        started_at: s.moment,
        seen_at: s.moment,
        problems: { ...s.arrayOf(s.text), description: 'What keeps it from its work.' },
        payload_key: {
          ...s.textOrNull,
          description:
            'Id of the key that it encrypts prompts and answers with; null: it does not encrypt them.',
        },
        payload_keys: { ...s.arrayOf(s.text), description: 'Ids of the keys that it can decrypt with.' },
      }),
    ),
    providers: s.arrayOf(
      s.object({
        name: s.text,
        kind: s.oneOf('openai', 'anthropic'),
        prices: { ...s.text, description: 'Whose prices it has.' },
        waiting: s.whole,
        parked: { ...s.whole, description: 'How many of them wait for a limit per minute.' },
        max_backlog: s.whole,
        oldest_waiting_ms: s.whole,
        active: s.whole,
        concurrency: s.whole,
        paused: { ...s.flag, description: 'No worker takes its requests.' },
        circuit: s.object({ state: s.oneOf('closed', 'failing', 'open'), until: s.momentOrNull }),
        cool_downs: s.arrayOf(
          s.object({
            model: s.textOrNull,
            service_tier: s.textOrNull,
            until: s.moment,
            remaining_ms: { type: 'integer' },
          }),
        ),
      }),
    ),
    redis: s.orNull(
      s.object({
        memory_used_bytes: s.whole,
        memory_limit_bytes: s.wholeOrNull,
        request_log_entries: s.whole,
        product: s.oneOf('Redis', 'Valkey'),
        version: s.text,
        warnings: {
          ...s.arrayOf(s.text),
          description: 'How its settings can lose accepted requests.',
        },
      }),
    ),
    copies: s.object({
      postgres: s.orNull(
        s.object({
          behind_ms: { ...s.whole, description: 'Age of the oldest entry that is not in PostgreSQL.' },
          spilled_entries: { ...s.whole, description: 'Entries on the disks of workers.' },
          problem: { ...s.textOrNull, description: 'Why this api cannot read PostgreSQL, as a sentence.' },
        }),
      ),
      files: s.orNull(
        s.object({
          behind_ms: {
            ...s.whole,
            description: 'Age of the oldest entry that is in no file. Up to an hour is normal.',
          },
        }),
      ),
    }),
    registry: s.object({ version: s.text, models: s.whole }),
  }),
} satisfies Record<string, s.Schema>;
