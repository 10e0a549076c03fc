/**
 * What becomes of each request field that Anthropic has no counterpart for. A field is refused where leaving it out
 * would change what the caller gets, and dropped where it would not. A field in none of the tables is dropped.
 * `null` counts as absent everywhere.
 */

interface Refusal {
  /** Whether this value cannot be served; the values that ask for nothing special pass. */
  refuses: (value: unknown) => boolean;
  reason: string;
}

const always = () => true;

export const REFUSED_FIELDS: Readonly<Record<string, Refusal>> = {
  n: { refuses: (value) => value !== 1, reason: 'Anthropic gives one choice per request' },
  logprobs: { refuses: (value) => value !== false, reason: 'Anthropic gives no token probabilities' },
  top_logprobs: { refuses: (value) => value !== 0, reason: 'Anthropic gives no token probabilities' },
  logit_bias: {
    refuses: (value) => typeof value !== 'object' || Object.keys(value ?? {}).length > 0,
    reason: 'Anthropic cannot bias single tokens',
  },
  modalities: {
    refuses: (value) => !Array.isArray(value) || value.some((modality) => modality !== 'text'),
    reason: 'Anthropic answers in text only',
  },
  audio: { refuses: always, reason: 'Anthropic answers in text only' },
  functions: {
    refuses: (value) => !Array.isArray(value) || value.length > 0,
    reason: 'superseded by tools, which are translated',
  },
  function_call: {
    refuses: (value) => value !== 'none' && value !== 'auto',
    reason: 'superseded by tool_choice, which is translated',
  },
  moderation: { refuses: always, reason: 'Anthropic has no moderation on request' },
  web_search_options: { refuses: always, reason: 'web search is not translated' },
};

export const DROPPED_FIELDS: Readonly<Record<string, string>> = {
  frequency_penalty: 'a sampling hint without counterpart',
  presence_penalty: 'a sampling hint without counterpart',
  seed: 'best effort at OpenAI, without counterpart',
  verbosity: 'a style hint without counterpart',
  prediction: 'makes an answer faster, not different',
  metadata: 'labels of completions stored at OpenAI',
  store: 'nothing is stored at Anthropic',
  stream: 'only false gets this far',
  stream_options: 'only read when streaming',
  prompt_cache_key: 'a routing hint of OpenAI',
  prompt_cache_options: 'caching as OpenAI does it',
  prompt_cache_retention: 'caching as OpenAI does it',
  'messages[].name': 'a message has no name at Anthropic',
  'messages[].content[].image_url.detail': 'Anthropic decides the resolution',
  'response_format.json_schema.name': 'the schema is sent, it has no name at Anthropic',
};

export const TRANSLATED_FIELDS: readonly string[] = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'thinking',
  'service_tier',
  'user',
  'safety_identifier',
];
