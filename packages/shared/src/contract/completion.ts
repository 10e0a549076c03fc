/** What callers of the public listener get. */
import { textOrNull, wholeOrNull } from './common.js';
import * as s from './structs.js';

const open = (properties: s.JsonSchema, required: readonly string[]): s.JsonSchema => ({
  type: 'object',
  properties,
  required,
});
const text = { type: 'string' };
const count = s.whole().json;
const message = open({ role: text, content: { type: ['string', 'null'] } }, ['role', 'content']);

/** A provider may add fields. */
export const chatCompletion = s.named(
  'ChatCompletion',
  s.any<unknown>(
    open(
      {
        id: { ...text, pattern: '^chatcmpl_' },
        object: { const: 'chat.completion' },
        created: count,
        model: { ...text, description: 'What the caller sent.' },
        choices: {
          type: 'array',
          items: open({ index: count, message, finish_reason: text }, ['index', 'message', 'finish_reason']),
        },
        usage: open({ prompt_tokens: count, completion_tokens: count, total_tokens: count }, [
          'prompt_tokens',
          'completion_tokens',
          'total_tokens',
        ]),
      },
      ['id', 'object', 'created', 'model', 'choices', 'usage'],
    ),
  ),
);

const vector = {
  anyOf: [{ type: 'array', items: { type: 'number' } }, text],
  description: 'A text in base64 where `encoding_format` says so.',
};

export const embeddingList = s.named(
  'EmbeddingList',
  s.any<unknown>(
    open(
      {
        object: { const: 'list' },
        data: { type: 'array', items: open({ index: count, embedding: vector }, ['index', 'embedding']) },
        model: { ...text, description: 'What the caller sent.' },
        usage: open({ prompt_tokens: count, total_tokens: count }, []),
      },
      ['object', 'data', 'model'],
    ),
  ),
);

export const modelListEntry = s.component('ModelListEntry', {
  id: s.text(),
  object: s.literal('model'),
  created: s.whole(),
  owned_by: s.text().about('`route:<provider>` for a route, else the provider.'),
  endpoint: s.optional(
    s.literal('/v1/embeddings').about('Set for a model that embeds, and for a route whose first entry does.'),
  ),
});

/** How a request in the background may have ended. */
export const REQUEST_ENDS = ['completed', 'failed', 'cancelled'] as const;
export type RequestEnd = (typeof REQUEST_ENDS)[number];
/** A list of requests may be asked for one of these. */
export const LISTED_STATUSES = ['in_progress', ...REQUEST_ENDS] as const;

/** Times are in seconds. */
export const backgroundRequest = s.component('BackgroundRequest', {
  id: s.text(),
  object: s.literal('request'),
  status: s.choice('in_progress', 'cancelling', ...REQUEST_ENDS),
  model: textOrNull,
  created_at: s.whole(),
  deadline_at: s.whole().about('When it is given up.'),
  ended_at: wholeOrNull,
  place: wholeOrNull.about(
    'How many requests are served before it, itself included. 0: it is being served. Null: it is over, or does not wait for a turn yet.',
  ),
  expected_at: wholeOrNull.about(
    'When it will most likely be answered. Null: it is over, or a provider’s own batch has it, and none or only shorter ones were seen.',
  ),
  waits_for: textOrNull.about(
    'What keeps a request with a deadline from being called now, as the log names it: `provider_key_refused`.',
  ),
  error_code: textOrNull,
});
export type BackgroundRequestObject = s.Infer<typeof backgroundRequest>;
