/** Routes, their chains and the entries of these. */
import {
  COUNT,
  callSettings,
  DURATION_MS,
  id,
  modelId,
  moment,
  ruleMistake,
  silenceNumbers,
  WEIGHT,
} from './common.js';
import { isText } from './references.js';
import * as s from './structs.js';

export const ALIAS: s.TextRule = {
  pattern: /^[A-Za-z0-9._:/@-]{1,128}$/,
  allowed: '1 to 128 characters of letters, digits and . _ - : / @',
};

export const alias = s.textOf(ALIAS);

export const ON_CRASH = ['rerun', 'fail', 'resume'] as const;
export const MAX_ENTRIES = 8;
/** The choice among the members of a group has random bits for this many (chat/choose-members.ts). */
export const MAX_MEMBERS = 8;
/** A request carries its whole chain. */
export const MAX_MODELS = 16;

const ENTRY_EXAMPLE = '{ provider: openai, model: gpt-4o-mini }';
const noEntry = instead(`an entry such as ${ENTRY_EXAMPLE}`);
const noRoute = instead(`a list of entries such as [${ENTRY_EXAMPLE}]`);

/** For a text in the place of something else. */
function instead(expected: string): s.Shape<never> {
  return new s.Shape<never>({ type: 'never', schema: null, validator: () => expected }, {});
}

/** Settings of an entry that differ from the provider's. */
export const entryNumbers = s.partial({
  timeout_ms: s.whole(DURATION_MS),
  ...silenceNumbers,
  max_tokens: s.whole(COUNT),
  retries: s.whole({ min: 0, max: 5 }),
});

const resumes = s.optional(
  s
    .choice('resume')
    .about('Calls by the Responses API run in the background, and another worker asks for their answer.'),
);
const readsPieces = s.optional(
  s.flag.about(
    'Whether its answers are read in pieces, so that silence is noticed. Left out: the provider’s.',
  ),
);

/** Without these fields there is no request. */
const KEPT = ['model', 'messages', 'stream'];
/** The gateway reckons the cost of a request from these fields, so no other field may become one of them. */
const RECKONED = [
  ...KEPT,
  ...['n', 'service_tier', 'tools', 'functions', 'prediction', 'audio', 'modalities', 'web_search_options'],
];
/** What limits an answer limits its cost. */
const LIMITS = ['max_tokens', 'max_completion_tokens'];
const MAX_FIELDS = 16;
const FIELD: s.TextRule = {
  pattern: /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/,
  allowed: 'the name of a field, of 1 to 64 letters, digits and _',
};
export const fieldName = s.textOf(FIELD);
const isTaken = (field: string) => `must not be ${field}, which the gateway itself goes by`;

/** The name of a field of requests, but none of these. */
function fieldBut(taken: readonly string[]): s.Shape<string> {
  const free = s.refined(fieldName, (field) => !taken.includes(field), isTaken);
  return free.about({ not: { enum: taken } });
}

function* renameMistakes(rename: s.Unread): Iterable<s.Finding> {
  const pairs = Object.entries(rename).filter((pair): pair is [string, string] =>
    pair.every((name) => fieldName.is(name)),
  );
  for (const [from, to] of pairs)
    if (LIMITS.includes(from) !== LIMITS.includes(to))
      yield { at: from, message: 'max_tokens and max_completion_tokens only get each other’s name' };
  // Otherwise the order of the fields would decide what a request becomes.
  const again = pairs.flat().find((name, i, all) => all.indexOf(name) < i);
  if (again !== undefined) yield { message: `each name may be there once, and ${again} is there again` };
}

/** How the requests to an entry's model differ from the callers'. */
export const fieldSettings = s.partial({
  drop: s
    .list(fieldBut(KEPT), { min: 1, max: MAX_FIELDS })
    .about('Fields of requests that this model does not get.'),
  rename: s
    .record(fieldBut(RECKONED), {
      nameMistake: (name) => ruleMistake(FIELD, name) ?? (KEPT.includes(name) ? isTaken(name) : undefined),
      atLeastOne: 'leave it out for the defaults',
      max: MAX_FIELDS,
      called: 'fields',
      check: renameMistakes,
    })
    .about({
      propertyNames: fieldBut(KEPT).json,
      description: 'Fields of requests that this model gets under another name.',
    }),
});

/** The outcome of an earlier call that an entry is for. Without it an entry is for every failure. */
export const when = s.optional(
  s
    .choice('context_length')
    .about(
      'context_length: only for requests that a model before it found too long. Absent: after any failure.',
    ),
);

/** The settings of an entry that take one of a few values, beside `when`. */
export const entryChoices = { ...callSettings, upstream_stream: readsPieces, on_crash: resumes };

/** A member of a group gets its weight's share of the group's requests. */
const weight = s.optional(s.whole(WEIGHT).about({ default: 1 }));
export const memberNumbers = { ...entryNumbers, weight };

/** `provider`: the providers that an entry may name. */
function routeOf(provider: s.Shape<string>) {
  const entryFields = {
    provider,
    model: modelId,
    when,
    ...entryNumbers,
    ...fieldSettings,
    ...entryChoices,
  };
  const chainEntry = s.component('ChainEntry', entryFields, { instead: 'one_of' });
  const groupMember = s.fields({ ...entryFields, weight });
  /** Each request goes to one member first, and to the other members before the next entry of the chain. */
  const entryGroup = s.component('EntryGroup', {
    one_of: s
      .list(
        s.chosen(groupMember.json, (value) => (isText(value) ? noEntry : groupMember)),
        { min: 2, max: MAX_MEMBERS },
      )
      .about(
        'Each request goes to one of these first, by their weights, and to the others before the next entry.',
      ),
  });
  const routeEntry = s.named(
    'RouteEntry',
    s.chosen<s.Infer<typeof chainEntry> | s.Infer<typeof entryGroup>>(
      { anyOf: [chainEntry.json, entryGroup.json] },
      (value) => (isText(value) ? noEntry : s.isMap(value) && 'one_of' in value ? entryGroup : chainEntry),
    ),
  );
  const chain = s.list(routeEntry, { min: 1, max: MAX_ENTRIES, check: modelMistakes });
  const onCrash = s.choice(...ON_CRASH).about('What becomes of a request whose worker dies in mid-call.');
  const handsOver = s.flag.about({
    default: false,
    description: 'Whether batches of the route are handed to the provider’s own batch API.',
  });
  const warmTokens = s
    .whole({ min: 1_000, max: 100_000 })
    .about(
      'Requests whose prompts begin with the same tokens, so many of them, go where that beginning is cached.',
    );
  const settings = s.fields(
    {
      chain,
      on_crash: s.withDefault(onCrash, 'rerun'),
      provider_batches: s.withDefault(handsOver, false),
      warm_prefix_tokens: s.optional(s.orNull(warmTokens)),
    },
    { check: batchMistakes },
  );
  const routeInput = s.named(
    'RouteInput',
    s.chosen<s.Infer<typeof settings> | s.Infer<typeof chain>>(
      { anyOf: [settings.json, chain.json] },
      (value) => (isText(value) ? noRoute : Array.isArray(value) ? chain : settings),
    ),
  );
  return {
    chainEntry,
    groupMember,
    entryGroup,
    routeEntry,
    chain,
    onCrash,
    handsOver,
    warmTokens,
    routeInput,
  };
}

function* modelMistakes(chain: readonly unknown[]): Iterable<s.Finding> {
  const models = chain.flatMap((entry) => (s.isMap(entry) ? (entry.one_of ?? entry) : []));
  if (models.length > MAX_MODELS)
    yield { message: `must have at most ${MAX_MODELS} models, those of its groups included` };
  const [first] = chain;
  const members: unknown[] = s.isMap(first) && Array.isArray(first.one_of) ? first.one_of : [first];
  if (members.some((entry) => s.isMap(entry) && entry.when !== undefined))
    yield { message: 'must begin with an entry without when, because no model is called before it' };
}

function* batchMistakes({ chain, provider_batches: handsOver }: s.Unread): Iterable<s.Finding> {
  const [first]: unknown[] = Array.isArray(chain) ? chain : [];
  if (handsOver === true && s.isMap(first) && 'one_of' in first)
    yield {
      at: 'provider_batches',
      message: 'needs a chain that begins with one model, not with one_of',
    };
}

const parts = routeOf(id);
export const { chainEntry, entryGroup, routeEntry, routeInput } = parts;
export type ChainEntry = s.Infer<typeof chainEntry>;
export type GroupMember = s.Infer<typeof parts.groupMember>;
export type EntryGroup = s.Infer<typeof entryGroup>;
export type RouteEntry = s.Infer<typeof routeEntry>;
export type OnCrash = (typeof ON_CRASH)[number];

/** Undefined: there are no providers at all, which is a mistake of its own. */
export function routeInputFor(providers: readonly string[] | 'any') {
  if (providers === 'any') return routeInput;
  return routeOf(providers.length === 0 ? s.any<string>({}) : s.choice(...providers)).routeInput;
}

export interface RouteConfig {
  chain: RouteEntry[];
  onCrash: OnCrash;
  /** Batches of this route are handed to the provider's own batch API where that is possible. */
  providerBatches?: boolean;
  /** Requests whose prompts begin with the same tokens, so many of them, are kept together. */
  warmPrefixTokens?: number;
}

/** A route is a chain, or a map with the chain and with settings of the whole route. */
export function toRoute(input: s.Infer<typeof routeInput>): RouteConfig {
  if (Array.isArray(input)) return { chain: input, onCrash: 'rerun' };
  const { chain, on_crash: onCrash, provider_batches: handsOver, warm_prefix_tokens: warm } = input;
  return {
    chain,
    onCrash,
    ...(handsOver ? { providerBatches: true } : {}),
    ...(warm ? { warmPrefixTokens: warm } : {}),
  };
}

/** The opposite of `toRoute`, for the admin api. */
export function presentSettings({
  chain,
  onCrash,
  providerBatches,
  warmPrefixTokens,
}: RouteConfig): s.FieldsOf<typeof routeSettings> {
  return {
    ...{ chain, on_crash: onCrash, provider_batches: providerBatches === true },
    warm_prefix_tokens: warmPrefixTokens ?? null,
  };
}

const { chain, onCrash, handsOver, warmTokens } = parts;
/** What can be set of a route. */
export const routeSettings = {
  chain,
  on_crash: onCrash,
  provider_batches: handsOver,
  warm_prefix_tokens: s.orNull(warmTokens),
};
/** Another one after every change. It is the ETag of the route. */
const version = s.text().about('Another one after every change; also its ETag.');
const head = { id: s.text(), object: s.literal('route') };

export const route = s.component('Route', { ...head, ...routeSettings, created_at: moment, version });
export type Route = s.Infer<typeof route>;

/** A route beside those of other workspaces. */
export const placedRoute = s.fields({
  ...head,
  workspace: s.text(),
  ...routeSettings,
  created_at: moment,
  version,
});
export type PlacedRoute = s.Infer<typeof placedRoute>;

/** A route as the callers of its workspace see it. */
export const ownRoute = s.component('OwnRoute', {
  ...head,
  chain: s.list(routeEntry),
  on_crash: onCrash,
});
