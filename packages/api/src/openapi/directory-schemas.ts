import * as s from './parts.js';

const id = s.matching(/^[a-z0-9][a-z0-9_-]{0,62}$/);
const label = s.matching(/^\P{C}{1,128}$/u);
const modelId = s.matching(/^[!-~]{1,256}$/);

const limit = { type: ['integer', 'null'], minimum: 1, maximum: 1_000_000 };
const budget = {
  type: ['number', 'null'],
  minimum: 0,
  maximum: 1_000_000_000,
  description: 'USD a calendar month, UTC.',
};
const limits = {
  requests_per_minute: limit,
  tokens_per_minute: {
    ...limit,
    maximum: 1_000_000_000,
    description: 'In any minute. A request waits in the queue where they are used up.',
  },
  concurrent_requests: limit,
  budget_usd_per_month: budget,
  budget: {
    ...s.orNull(s.oneOf('strict', 'expected')),
    description:
      'Whether the most that a request can cost is held back of the budget, or what most stay under.',
  },
  unpriced_models: {
    ...s.orNull(s.oneOf('refuse', 'allow')),
    description: 'Null: refuse as soon as there is a budget.',
  },
  weight: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 1_000,
    description: 'How many turns it gets for one of a workspace without a weight, where both wait.',
  },
  batches_over_budget: {
    ...s.orNull(s.oneOf('wait', 'fail')),
    description: 'What its batches do when the budget is spent. Null: wait.',
  },
};
const models = {
  ...s.orNull({ type: 'array', items: modelId, minItems: 1, maxItems: 256 }),
  description: 'Routes and model ids that callers may name; * stands for any characters. Null: all.',
};

const priority = s.oneOf('interactive', 'normal', 'background');
const priorities = {
  priority: { ...priority, description: 'The class of its requests that name none.' },
  max_priority: {
    ...priority,
    description: 'The highest class that a request may name; by default the one of `priority`.',
  },
};
const key = {
  id: s.text,
  object: { const: 'key' },
  workspace: s.text,
  name: s.text,
  last_four: { ...s.text, description: 'The last four characters of the key.' },
  created_at: s.moment,
  created_by: { ...s.textOrNull, description: 'Who issued or rotated it; null for an old key.' },
  last_used_at: { ...s.momentOrNull, description: 'To within a few seconds.' },
  expires_at: s.momentOrNull,
  ...priorities,
};
const workspace = {
  id: s.text,
  object: { const: 'workspace' },
  name: s.text,
  created_at: s.moment,
  models,
  limits: s.ref('Limits'),
};
const value = { ...s.text, description: 'The key itself. Shown here and never again.' };

const field = s.matching(/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/);
const entrySettings = {
  timeout_ms: s.within(1, 3_600_000),
  max_tokens: s.within(1, 1_000_000),
  retries: s.within(0, 5),
  drop: {
    ...s.arrayOf(field),
    minItems: 1,
    maxItems: 16,
    description: 'Fields of requests that this model does not get.',
  },
  rename: {
    type: 'object',
    additionalProperties: field,
    minProperties: 1,
    maxProperties: 16,
    description: 'Fields of requests that this model gets under another name.',
  },
};
const version = { ...s.text, description: 'Another one after every change; also its ETag.' };
const route = {
  chain: { type: 'array', items: s.ref('RouteEntry'), minItems: 1, maxItems: 8 },
  on_crash: {
    ...s.oneOf('rerun', 'fail'),
    description: 'What becomes of a request whose worker dies in mid-call.',
  },
  provider_batches: {
    type: 'boolean',
    default: false,
    description: 'Whether batches of the route are handed to the provider’s own batch API.',
  },
};

export const directorySchemas = {
  Limits: s.object(limits),
  LimitsInput: s.object({}, limits),
  LimitsUse: s.object({
    object: { const: 'limits' },
    workspace: s.text,
    ...limits,
    used: s.object({
      month: { ...s.text, pattern: '^\\d{4}-\\d\\d$' },
      in_flight: s.whole,
      spent_usd: s.usd,
      spent_picodollars: s.picodollars,
      estimated_usd: { ...s.usd, description: 'What calls may have cost whose bill nobody knows.' },
      estimated_picodollars: s.picodollars,
      reserved_usd: s.usd,
      reserved_picodollars: s.picodollars,
      left_usd: s.orNull(s.usd),
      left_picodollars: s.orNull(s.picodollars),
      refusing_since: { ...s.momentOrNull, description: 'Since when the budget refuses every request.' },
    }),
  }),
  Workspace: s.object(workspace),
  WorkspaceState: s.object({
    ...workspace,
    refusing_since: { ...s.momentOrNull, description: 'Since when its budget refuses every request.' },
  }),
  WorkspaceInput: s.object({ id }, { name: label, models, limits: s.ref('LimitsInput') }),
  WorkspaceChange: s.object({}, { name: label, models, limits: s.ref('LimitsInput') }),
  Directory: s.object({
    object: { const: 'directory' },
    providers: { ...s.arrayOf(s.text), description: 'The providers that routes may name.' },
    workspaces: s.arrayOf(s.ref('Workspace')),
    routes: s.arrayOf(
      s.object({
        id: s.text,
        object: { const: 'route' },
        workspace: s.text,
        ...route,
        created_at: s.moment,
        version,
      }),
    ),
    keys: s.arrayOf(s.ref('Key')),
  }),
  Key: s.object(key),
  IssuedKey: s.object(key, { value }),
  RotatedKey: s.object({ ...key, value, replaced: s.ref('Key') }),
  KeySearch: s.object({
    object: { const: 'key_search' },
    state: s.oneOf('unused', 'issued', 'revoked'),
    key: { anyOf: [s.ref('Key'), { type: 'null' }] },
    revoked_at: s.momentOrNull,
  }),
  KeyInput: s.object(
    { name: label },
    {
      expires_at: s.momentOrNull,
      value: { ...s.text, description: 'A value of your own, 32 to 200 letters, digits, _ . and -.' },
      ...priorities,
    },
  ),
  KeyChange: s.object({}, { name: label, expires_at: s.momentOrNull, ...priorities }),
  Rotation: s.object(
    {},
    {
      grace_seconds: { ...s.within(0, 7_776_000), default: 86_400 },
      expires_at: {
        ...s.momentOrNull,
        description: 'When the new key ends; null for never. Left out: when the old one would have ended.',
      },
    },
  ),
  ChainEntry: s.object({ provider: id, model: modelId }, entrySettings),
  EntryGroup: s.object({
    one_of: {
      type: 'array',
      minItems: 2,
      maxItems: 8,
      description:
        'Each request goes to one of these first, by their weights, and to the others before the next entry.',
      items: s.object(
        { provider: id, model: modelId },
        { ...entrySettings, weight: { ...s.whole, minimum: 1, maximum: 1000, default: 1 } },
      ),
    },
  }),
  RouteEntry: { anyOf: [s.ref('ChainEntry'), s.ref('EntryGroup')] },
  Route: s.object({ id: s.text, object: { const: 'route' }, ...route, created_at: s.moment, version }),
  RouteInput: {
    anyOf: [
      s.object(
        { chain: route.chain },
        { on_crash: route.on_crash, provider_batches: route.provider_batches },
      ),
      route.chain,
    ],
  },
} satisfies Record<string, s.Schema>;
