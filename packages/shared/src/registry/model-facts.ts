/**
 * What a model or its provider does not take of a chat request, beside the prices. Each row has the page or the error text that
 * says so. A model that is in no row takes everything: its provider knows better.
 *
 * A fact is about one field. `adapt` says what becomes of the field where nothing that the caller asked for is lost. Without it
 * the entry cannot take the request. The contract passes `temperature`, `top_p` and `max_tokens` through, so they are never
 * left out, and only ever get another name.
 */
import type { ChatMessage, ChatRequest } from '../chat.js';
import type { ProviderConfig } from '../config/provider.js';
import { REFUSED_FIELDS } from './anthropic-fields.js';

export interface ModelFact {
  /** A field of the request, or `messages`. */
  field: string;
  /** Whether this value is refused. Absent: every value that is not null. */
  refuses?: (value: unknown, request: ChatRequest) => boolean;
  /** What the caller reads after the field's name. */
  words: string;
  adapt?: Adaptation;
  /** For `messages`: they are only looked into when their JSON has this text. */
  mark?: string;
  /** Only the chat endpoint refuses it. The Responses API takes it, where the provider has one. */
  takenByResponses?: true;
}

/** By which endpoint a model of kind `openai` is called: `responses_with_tools` is for requests with tools. */
export type ModelApi = 'chat' | 'responses' | 'responses_with_tools';

export type Adaptation =
  /** The same under another name. */
  | { rename: string }
  /** The format calls it a hint, or it is the default. */
  | 'drop'
  /** The messages of this role get another that means the same. */
  | { role: string; becomes: string }
  /** An identifier that may name a person. The provider asks for an opaque one. */
  | 'digest'
  /** Ids of tool calls get another form, the same for a call and its result. */
  | 'call_ids';

interface FactRow {
  /** A price list. Claude is the same everywhere, and so are OpenAI's models at Azure. */
  of: string;
  models: RegExp;
  facts: readonly ModelFact[];
  source: string;
}

type Test = NonNullable<ModelFact['refuses']>;

const refuses = (field: string, words: string, test?: Test): ModelFact =>
  test ? { field, words, refuses: test } : { field, words };
const renames = (field: string, to: string): ModelFact => ({
  ...refuses(field, `is called ${to} there`),
  adapt: { rename: to },
});
/** The format calls the field a hint, or the value is the default. */
const drops = (field: string, test?: Test): ModelFact => ({
  ...refuses(field, 'is not taken there', test),
  adapt: 'drop',
});
/** They change nothing in an answer. */
const HINTS = ['safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prediction'];
const lacks = (...fields: string[]) => fields.map((field) => refuses(field, 'is not taken there'));

const is =
  (...values: unknown[]): Test =>
  (value) =>
    values.includes(value);
const isNot =
  (...values: unknown[]): Test =>
  (value) =>
    !values.includes(value);
const isForced: Test = (choice) => choice === 'required' || typeof choice === 'object';
const hasType =
  (...types: string[]): Test =>
  (value) =>
    types.includes(String((value as { type?: unknown }).type));
const noSchema = refuses('response_format', 'takes no schema there', hasType('json_schema'));
const isBesides =
  (field: string): Test =>
  (_, request) =>
    (request[field] ?? null) !== null;
/** Mistral takes such a message with `prefix`. */
const endsWithAssistant: Test = (_, { messages }) => {
  const last = messages.at(-1);
  return last?.role === 'assistant' && last.prefix !== true;
};
/** What looks like an e-mail address or a telephone number. */
const namesPerson: Test = (value) =>
  /\S@\S+\.\S|^\+?[\d\s().-]{7,20}$/.test(String(value).slice(0, 200).trim());

const developerIsSystem: ModelFact = {
  field: 'messages',
  mark: '"developer"',
  words: 'may not have the role developer',
  refuses: (_, { messages }) => messages.some(({ role }) => role === 'developer'),
  adapt: { role: 'developer', becomes: 'system' },
};
const noNames: ModelFact = {
  field: 'messages',
  mark: '"name"',
  words: 'may not have a name',
  refuses: (_, { messages }) => messages.some(({ role, name = null }) => name !== null && role !== 'tool'),
};
const noImages: ModelFact = {
  field: 'messages',
  mark: '"image_url"',
  words: 'may not have an image',
  refuses: (_, { messages }) =>
    messages.some(
      ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'image_url'),
    ),
};
/** Mistral takes ids of tool calls in its own form only. */
export const MISTRAL_CALL_ID = /^[a-zA-Z0-9]{9}$/;
const ownCallIds: ModelFact = {
  field: 'messages',
  mark: '"tool_call',
  words: 'may only have ids of tool calls of 9 letters and digits',
  refuses: (_, { messages }) =>
    messages.some((message) => callIdsOf(message).some((id) => !MISTRAL_CALL_ID.test(id))),
  adapt: 'call_ids',
};
/** Of the calls that a message makes or answers. */
function callIdsOf(message: ChatMessage): string[] {
  if (message.role === 'tool') return [message.tool_call_id];
  return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
}
const hasUserAfterTool: Test = (_, { messages }) =>
  messages.some(({ role }, i) => role === 'user' && messages[i - 1]?.role === 'tool');
/** To leave out a penalty of 0 changes nothing. */
const noPenalty = (field: string) => [drops(field, is(0)), refuses(field, 'is not taken there', isNot(0))];
/** Not to store an answer, and the usual tier, is what a provider without them does. */
const onlyDefaults = [
  drops('store', is(false)),
  refuses('store', 'is not taken there', is(true)),
  drops('service_tier', is('auto', 'default')),
  refuses('service_tier', 'has no counterpart there', isNot('auto', 'default')),
];

/** `byDefault`: whether the model reasons when the request names no effort. */
const reasons =
  (byDefault: boolean) =>
  ({ reasoning_effort: effort = null }: ChatRequest) =>
    effort === null ? byDefault : effort !== 'none';

function factsOfReasoning(reasons: (request: ChatRequest) => boolean): ModelFact[] {
  const unless =
    (...values: unknown[]): Test =>
    (value, request) =>
      !values.includes(value) && reasons(request);
  const words = 'is fixed while the model reasons';
  return [
    renames('max_tokens', 'max_completion_tokens'),
    refuses('temperature', words, unless(1)),
    refuses('top_p', words, unless(1)),
    refuses('presence_penalty', words, unless(0)),
    refuses('frequency_penalty', words, unless(0)),
    refuses('logprobs', words, unless(false)),
    refuses('top_logprobs', words, unless()),
    ...lacks('stop', 'logit_bias'),
    drops('prediction'),
  ];
}
const noTools = (reasons: (request: ChatRequest) => boolean): ModelFact => ({
  ...refuses(
    'tools',
    'are not taken by chat completions while the model reasons',
    (tools, request) => Array.isArray(tools) && tools.length > 0 && reasons(request),
  ),
  takenByResponses: true,
});
const noChat: ModelFact = {
  ...refuses('model', 'is not served by chat completions'),
  takenByResponses: true,
};

const CLAUDE_GUIDES = 'https://platform.claude.com/docs/en/models';
const OPENAI_GUIDE = 'https://developers.openai.com/api/docs/guides/reasoning';

const MODELS: readonly FactRow[] = [
  {
    // They have no counterpart in Anthropic's format.
    of: 'anthropic',
    models: /^claude/,
    facts: [
      ...['seed', 'verbosity', 'prediction', 'metadata', 'prompt_cache_key', 'prompt_cache_retention'],
      ...['prompt_cache_options', 'frequency_penalty', 'presence_penalty', 'store'],
    ].map((field) => drops(field, isNot(false))),
    source: 'https://platform.claude.com/docs/en/api/openai-sdk',
  },
  {
    of: 'anthropic',
    models: /^claude/,
    facts: ['user', 'safety_identifier'].map((field) => ({
      ...refuses(field, 'may not name a person', namesPerson),
      adapt: 'digest',
    })),
    source: 'https://github.com/BerriAI/litellm/issues/10106',
  },
  {
    of: 'anthropic',
    models: /^claude-(?:opus-4-[1-6]|sonnet-4-[56]|haiku-4)/,
    facts: [refuses('top_p', 'is not taken together with temperature', isBesides('temperature'))],
    source: `${CLAUDE_GUIDES}/haiku-4-5/migration-guide`,
  },
  {
    of: 'anthropic',
    models: /^claude-(?:(?:opus|sonnet)-4-6|opus-4-[78]|(?:opus|sonnet|haiku|fable|mythos)-5)/,
    facts: [refuses('messages', 'may not end with a message of the assistant', endsWithAssistant)],
    source: `${CLAUDE_GUIDES}/opus-4-6/migration-guide`,
  },
  {
    of: 'anthropic',
    models: /^claude-(?:opus-4-[78]|(?:opus|sonnet|haiku|fable|mythos)-5)/,
    facts: [
      refuses('temperature', 'is fixed there', isNot(1)),
      ...['top_p', 'top_k'].map((field) => refuses(field, 'is fixed there')),
      refuses('thinking', 'has no budget there', hasType('enabled')),
    ],
    source: `${CLAUDE_GUIDES}/sonnet-5/migration-guide`,
  },
  {
    of: 'anthropic',
    models: /^claude-(?:(?:opus|sonnet)-5-5|(?:fable|mythos)-5)/,
    facts: [refuses('thinking', 'cannot be turned off there', hasType('disabled'))],
    source: `${CLAUDE_GUIDES}/opus-5-5/migration-guide`,
  },
  {
    of: 'anthropic',
    models: /^claude-(?:(?:opus|sonnet)-5-5|(?:fable|mythos)-5-[1-9])/,
    facts: [refuses('tool_choice', 'cannot force a call there', isForced)],
    source: `${CLAUDE_GUIDES}/sonnet-5-5/migration-guide`,
  },
  {
    of: 'openai',
    models: /^(?:o\d|gpt-5(?:-(?!chat)|$)|gpt-5\.\d-pro|gpt-6-astra|gpt-6\.1-sol)/,
    facts: factsOfReasoning(() => true),
    source: OPENAI_GUIDE,
  },
  {
    of: 'openai',
    models: /^gpt-(?:5\.[5-9](?!-pro)|6(?!-astra|\.1-sol)|[7-9])/,
    facts: [...factsOfReasoning(reasons(true)), noTools(reasons(true))],
    source: 'https://github.com/openai/openai-openapi/issues/541',
  },
  {
    of: 'openai',
    models: /^gpt-6(?:-astra|\.1-sol)/,
    facts: [noTools(() => true)],
    source: 'https://developers.openai.com/api/docs/guides/deployment-checklist',
  },
  {
    of: 'openai',
    models: /^gpt-5\.[1-4](?!-pro)/,
    facts: factsOfReasoning(reasons(false)),
    source: OPENAI_GUIDE,
  },
  {
    of: 'openai',
    models: /^gpt-5\.4(?!-pro)/,
    facts: [noTools(reasons(false))],
    source: 'https://github.com/BerriAI/litellm/pull/34569',
  },
  {
    of: 'openai',
    models: /^(?:(?:o\d|gpt-).*-(?:pro|codex|deep-research)(?:-|$)|codex-mini|computer-use)/,
    facts: [noChat],
    source: 'https://developers.openai.com/api/docs/guides/migrate-to-responses',
  },
  {
    of: 'openai',
    models: /^o\d/,
    facts: [
      refuses('parallel_tool_calls', 'is not taken there'),
      refuses('verbosity', 'has one value there', isNot('medium')),
    ],
    source: OPENAI_GUIDE,
  },
  {
    of: 'openai',
    models: /^(?:gpt-[34]|o1|chatgpt)/,
    facts: [refuses('service_tier', 'has no flex there', is('flex'))],
    source: 'https://developers.openai.com/api/docs/guides/flex-processing',
  },
  {
    of: 'openai',
    models: /^gpt-(?:3|4)|^gpt-5-chat/,
    facts: [
      refuses('reasoning_effort', 'is not taken by a model that does not reason'),
      refuses('verbosity', 'has one value there', isNot('medium')),
    ],
    source: OPENAI_GUIDE,
  },
  {
    of: 'openai',
    models: /^(?:gpt-3\.5|gpt-4(?!o|\.))/,
    facts: [noSchema],
    source: 'https://developers.openai.com/api/docs/guides/structured-outputs',
  },
  {
    of: 'openai',
    models: /^(?:gpt-3\.5|gpt-4(?!o|\.|-turbo|-vision)|o1-(?:mini|preview)|o3-mini)/,
    facts: [noImages],
    source: 'https://github.com/vllm-project/vllm/issues/11629',
  },
  {
    of: 'openai',
    models: /search-(?:preview|api)/,
    facts: [
      ...lacks(
        'temperature',
        'top_p',
        'presence_penalty',
        'frequency_penalty',
        'n',
        'logit_bias',
        'logprobs',
      ),
      ...lacks('top_logprobs', 'stop'),
      drops('seed'),
    ],
    source: 'https://developers.openai.com/api/docs/guides/tools-web-search',
  },
  {
    of: 'mistral',
    models: /^/,
    facts: [
      developerIsSystem,
      noNames,
      ownCallIds,
      refuses('messages', 'may not end with a message of the assistant', endsWithAssistant),
      {
        ...refuses('messages', 'may not have one of the user right after one of a tool', hasUserAfterTool),
        mark: '"tool"',
      },
      renames('seed', 'random_seed'),
      ...['user', 'safety_identifier', 'prompt_cache_retention', 'stream_options'].map((field) =>
        drops(field),
      ),
      ...onlyDefaults,
      ...lacks('logit_bias', 'top_logprobs', 'verbosity', 'audio', 'functions', 'function_call'),
      ...lacks('web_search_options'),
      refuses('logprobs', 'is not taken there', is(true)),
      drops('modalities', (value) => JSON.stringify(value) === '["text"]'),
    ],
    source: 'https://docs.mistral.ai/api/endpoint/chat',
  },
  {
    of: 'groq',
    models: /^/,
    facts: [
      noNames,
      refuses('n', 'is at most 1 there', isNot(1)),
      refuses('logprobs', 'is not taken there', is(true)),
      ...lacks('logit_bias', 'top_logprobs', 'verbosity', 'web_search_options'),
      ...HINTS.map((field) => drops(field)),
      drops('store', is(false)),
      refuses('store', 'is not taken there', is(true)),
    ],
    source: 'https://console.groq.com/docs/openai',
  },
  {
    of: 'deepseek',
    models: /^/,
    facts: [developerIsSystem, noImages, noSchema],
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  {
    of: 'deepseek',
    models: /^deepseek-(?:reasoner|v4)/,
    facts: [
      refuses(
        'tool_choice',
        'cannot force a call while the model thinks',
        (choice, request) =>
          isForced(choice, request) && !hasType('disabled')(request.thinking ?? {}, request),
      ),
    ],
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    of: 'x-ai',
    models: /^grok-(?:3-mini|[4-9]|build|code)/,
    facts: [...noPenalty('presence_penalty'), ...noPenalty('frequency_penalty'), ...lacks('stop')],
    source: 'https://docs.x.ai/docs/guides/reasoning',
  },
  {
    of: 'x-ai',
    models: /^grok-(?:3(?!-mini)|4(?!\.[3-9])|build|code)/,
    facts: lacks('reasoning_effort'),
    source: 'https://docs.x.ai/docs/guides/reasoning',
  },
  {
    of: 'google',
    models: /^(?!claude)/,
    facts: [
      ...['seed', 'metadata', ...HINTS].map((field) => drops(field)),
      ...onlyDefaults,
      drops('logprobs', is(false)),
      refuses('logprobs', 'is not taken there', is(true)),
      ...lacks('logit_bias', 'top_logprobs', 'verbosity'),
    ],
    source: 'https://ai.google.dev/gemini-api/docs/openai',
  },
  {
    of: 'fireworks',
    models: /^/,
    facts: [
      drops('store', is(false)),
      refuses('store', 'is not taken there', is(true)),
      ...['safety_identifier', 'prompt_cache_retention'].map((field) => drops(field)),
      ...lacks('verbosity', 'web_search_options'),
    ],
    source: 'https://github.com/vercel/ai/pull/18306',
  },
  {
    of: 'aws',
    models: /^openai\.gpt-oss/,
    facts: [renames('max_tokens', 'max_completion_tokens'), ...noPenalty('frequency_penalty')],
    source: 'https://github.com/CherryHQ/cherry-studio/issues/9655',
  },
];

/** Whether an input is given as tokens. */
const isTokens: Test = (input) => Array.isArray(input) && typeof input[0] !== 'string';

/** What models do not take of an embeddings request. */
const EMBEDDING_MODELS: readonly FactRow[] = [
  {
    of: 'openai',
    models: /^text-embedding-ada/,
    facts: lacks('dimensions'),
    source: 'https://github.com/camel-ai/camel/issues/902',
  },
  {
    of: 'mistral',
    models: /^/,
    facts: [
      refuses('input', 'may not be tokens there', isTokens),
      renames('dimensions', 'output_dimension'),
      drops('user'),
    ],
    source: 'https://docs.mistral.ai/api/endpoint/embeddings',
  },
  {
    of: 'google',
    models: /^/,
    facts: [refuses('input', 'may not be tokens there', isTokens), drops('user')],
    source: 'https://ai.google.dev/gemini-api/docs/openai',
  },
];

export function embeddingFactsOf({ prices, maker = prices }: Server, model: string): readonly ModelFact[] {
  const of = maker === 'azure' ? 'openai' : maker;
  return EMBEDDING_MODELS.filter((row) => row.of === of && row.models.test(bareName(model))).flatMap(
    ({ facts }) => facts,
  );
}

type Server = Pick<ProviderConfig, 'kind' | 'prices' | 'maker' | 'responsesPath'>;

interface Known {
  facts: readonly ModelFact[];
  /** What only the chat endpoint refuses, where the provider has the other one. */
  byResponses: readonly ModelFact[];
}

const NONE: Known = { facts: [], byResponses: [] };
const MOST_REMEMBERED = 1_000;
const remembered = new Map<string, Known>();

/** The facts about a model of this provider. */
export function factsOf(server: Server, model: string): readonly ModelFact[] {
  return knownOf(server, model).facts;
}

function knownOf({ kind, prices, maker: serves = prices, responsesPath }: Server, model: string): Known {
  const name = `${kind} ${serves} ${responsesPath === undefined ? '' : 'both'} ${model}`;
  const known = remembered.get(name);
  if (known) return known;
  const bare = bareName(model);
  const maker = kind === 'anthropic' ? kind : serves === 'azure' ? 'openai' : serves;
  const facts = MODELS.filter(({ of, models }) => of === maker && models.test(bare)).flatMap(
    (row) => row.facts,
  );
  const isElsewhere = ({ takenByResponses }: ModelFact) =>
    responsesPath !== undefined && takenByResponses === true;
  const found: Known =
    facts.length === 0
      ? NONE
      : { facts: facts.filter((fact) => !isElsewhere(fact)), byResponses: facts.filter(isElsewhere) };
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(name, found);
  return found;
}

/** The first field of a request that a model is known to refuse, and why. Fields that are adapted do not count. */
export function refusedFieldOf(
  server: Server,
  { model, drop = [], rename = {} }: { model: string; drop?: string[]; rename?: Record<string, string> },
  request: ChatRequest,
  isEmbedding: boolean,
): { field: string; words: string } | undefined {
  const isLeft = (field: string) => !drop.includes(field) && !Object.hasOwn(rename, field);
  const valueHere = (field: string) => (isLeft(field) ? (request[field] ?? null) : null);
  const facts = isEmbedding ? embeddingFactsOf(server, model) : factsOf(server, model);
  const fact = facts.find(({ field, adapt, refuses }) => {
    if (adapt) return false;
    if (field === 'messages') return refuses?.(undefined, request) ?? true;
    const value = valueHere(field);
    return value !== null && (refuses?.(value, request) ?? true);
  });
  if (fact || isEmbedding || server.kind !== 'anthropic') return fact;
  const [field, refusal] =
    Object.entries(REFUSED_FIELDS).find(([name, { refuses }]) => {
      const value = valueHere(name);
      return value !== null && refuses(value);
    }) ?? [];
  return field && refusal ? { field, words: `cannot be served: ${refusal.reason}` } : undefined;
}

/** Whether the model takes this request by the Responses API only. */
export function needsResponses(server: Server, model: string, request: ChatRequest): boolean {
  const { byResponses } = knownOf(server, model);
  return byResponses.some(({ field, refuses }) => {
    const value = request[field] ?? null;
    return value !== null && (refuses?.(value, request) ?? true);
  });
}

/** The endpoint of a model of a price list, for people. */
export function apiOf(prices: string, model: string): ModelApi {
  const { byResponses } = knownOf({ kind: 'openai', prices, responsesPath: '/responses' }, model);
  if (byResponses.length === 0) return 'chat';
  return byResponses.some(({ field }) => field === 'model') ? 'responses' : 'responses_with_tools';
}

/** The fields that a model of a price list does not take, or not every value of them. Those that are adapted do not count. */
export function refusedFieldsOf(prices: string, model: string): string[] {
  // These sell Claude in Anthropic's own format.
  const isClaude = ['anthropic', 'aws', 'azure', 'google'].includes(prices) && model.includes('claude');
  const kind = isClaude ? 'anthropic' : 'openai';
  // What the one endpoint refuses, the other takes.
  const facts = factsOf({ kind, prices, responsesPath: '/responses' }, model);
  return [...new Set(facts.flatMap(({ field, adapt }) => (adapt ? [] : field)))];
}

/** Bedrock says region and maker before a model, Vertex the maker, and a fine-tuned model has its base in the middle. */
function bareName(model: string): string {
  return model
    .replace(/^ft:/, '')
    .replace(/^(?:[a-z-]+\.)?anthropic\./, '')
    .replace(/^(?:openai|google|anthropic)\//, '');
}
