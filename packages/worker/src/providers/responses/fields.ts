/**
 * What becomes of each field of a chat request at Responses. A field in none of the tables is refused too: what cannot be said
 * is never left out in silence. `null` counts as absent everywhere.
 */

/** The same field, under the same name. */
export const SAME_FIELDS: readonly string[] = [
  ...['temperature', 'top_p', 'top_logprobs', 'parallel_tool_calls', 'service_tier', 'metadata', 'user'],
  ...['safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'],
];

/** The same under another name, or in another form. */
export const TRANSLATED_FIELDS: readonly string[] = [
  ...['model', 'messages', 'max_tokens', 'max_completion_tokens', 'tools', 'tool_choice', 'response_format'],
  ...['reasoning_effort', 'reasoning', 'verbosity', 'logprobs'],
];

/** Nothing is lost without them. */
export const DROPPED_FIELDS: Readonly<Record<string, string>> = {
  stream: 'only false gets this far',
  thinking: 'Claude’s own field; `reasoning_effort` is the one that all models know',
};

interface Refusal {
  /** Whether this value cannot be served. The values that ask for nothing special pass. */
  refuses: (value: unknown) => boolean;
  reason: string;
}

const always = () => true;
const isNot = (usual: unknown) => (value: unknown) => value !== usual;
const LACKS = 'it has no such field';

export const REFUSED_FIELDS: Readonly<Record<string, Refusal>> = {
  n: { refuses: isNot(1), reason: 'it gives one choice per request' },
  stop: { refuses: (value) => !Array.isArray(value) || value.length > 0, reason: LACKS },
  seed: { refuses: always, reason: LACKS },
  presence_penalty: { refuses: isNot(0), reason: LACKS },
  frequency_penalty: { refuses: isNot(0), reason: LACKS },
  logit_bias: {
    refuses: (value) => typeof value !== 'object' || Object.keys(value ?? {}).length > 0,
    reason: LACKS,
  },
  prediction: { refuses: always, reason: LACKS },
  modalities: {
    refuses: (value) => !Array.isArray(value) || value.some((modality) => modality !== 'text'),
    reason: 'it answers in text only',
  },
  audio: { refuses: always, reason: 'it answers in text only' },
  store: { refuses: isNot(false), reason: 'the gateway stores no answer there' },
  functions: {
    refuses: (value) => !Array.isArray(value) || value.length > 0,
    reason: 'superseded by tools, which are translated',
  },
  function_call: {
    refuses: (value) => value !== 'none' && value !== 'auto',
    reason: 'superseded by tool_choice, which is translated',
  },
  moderation: { refuses: always, reason: LACKS },
  web_search_options: { refuses: always, reason: 'web search is not translated' },
  stream_options: { refuses: always, reason: 'only a streamed answer has them' },
};
