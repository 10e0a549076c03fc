/**
 * What passes both ways, per family of providers. docs/translation.md shows this table, and test/unit/translation.test.ts
 * runs every cell of it for every preset.
 */
import type { ChatMessage, ChatRequest } from '@sluice/shared/chat';

/** How a provider takes a request: OpenAI itself and servers as strict, other compatible servers, Anthropic's format, Responses. */
export type Family = 'openai' | 'compatible' | 'anthropic' | 'responses';
/** What happens to the feature on its way. */
export type Verdict = 'as it came' | 'translated' | 'left out';

type Json = Record<string, unknown>;

export interface Feature {
  name: string;
  verdicts: Record<Family, Verdict>;
  /** Beside a model. */
  request?: Partial<ChatRequest>;
  /** These fields of the body that is sent, exactly. */
  sent?: Record<Family, Json>;
  /** An answer in the provider's format. */
  answer?: Record<Family, Json>;
  /** These fields of the message that the caller gets, exactly. */
  message?: Record<Family, Json>;
  usage?: Json;
  finishReason?: string;
  /** The message goes back in the next turn: these are the blocks or fields that it is sent with, exactly. */
  sentBack?: Record<Family, Json>;
}

const same = <T>(value: T): Record<Family, T> => ({
  openai: value,
  compatible: value,
  anthropic: value,
  responses: value,
});
const user = (content: unknown): ChatMessage => ({ role: 'user', content: content as string });
const MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const PNG = 'iVBORw0KGgo=';
const PDF = 'JVBERi0xLjQK';
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const WEATHER = { name: 'weather', description: 'Weather of a city.', parameters: SCHEMA };
const CALLS = ['Oslo', 'Rome'].map((city, i) => ({
  id: `call_${i}`,
  type: 'function' as const,
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
}));
const USES = ['Oslo', 'Rome'].map((city, i) => ({
  type: 'tool_use',
  id: `call_${i}`,
  name: 'weather',
  input: { city },
}));
const RESULTS: ChatMessage[] = CALLS.map(({ id }, i) => ({
  role: 'tool',
  tool_call_id: id,
  content: i === 0 ? 'snow' : 'sun',
}));

const OUTPUTS = (...outputs: string[]): Json[] =>
  outputs.map((output, i) => ({ type: 'function_call_output', call_id: `call_${i}`, output }));

const completion = (message: Json, finish = 'stop', usage: Json = {}): Json => ({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...usage },
});
const claude = (content: Json[], stop = 'end_turn', usage: Json = {}, more: Json = {}): Json => ({
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: stop,
  usage: { input_tokens: 10, output_tokens: 5, ...usage },
  ...more,
});

/** An answer of Responses. */
const items = (output: Json[], usage: Json = {}, more: Json = {}): Json => ({
  object: 'response',
  status: 'completed',
  output,
  usage: { input_tokens: 10, output_tokens: 5, ...usage },
  ...more,
});
const said = (...content: Json[]): Json => ({ type: 'message', role: 'assistant', content });
const asked = (...content: Json[]): Json => ({ type: 'message', role: 'user', content });
const text = (value: string): Json => ({ type: 'input_text', text: value });
const CALL_ITEMS = CALLS.map(({ id, function: { name, arguments: args } }) => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: args,
}));

const MARKED = [
  { role: 'system', content: [{ type: 'text', text: 'Long rules.', ...MARK }] },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'A long file.', ...MARK },
      { type: 'text', text: 'Sum up.' },
    ],
  },
] as unknown as ChatMessage[];
const MARKED_TOOLS = [{ type: 'function', function: WEATHER, ...MARK }];
const THOUGHTS = [
  { type: 'thinking', thinking: 'Two cities.', signature: 'c2lnbmVk' },
  { type: 'redacted_thinking', data: 'b3BhcXVl' },
];
const SIGNED_CALLS = CALLS.map((call) => ({
  ...call,
  extra_content: { google: { thought_signature: 'c2ln' } },
}));
const IMAGES = [
  { type: 'text', text: 'What is it?' },
  { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
  { type: 'image_url', image_url: { url: 'https://example.com/cat.jpg' } },
];
const FILE = [{ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } }];
const FORMAT = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: SCHEMA } };

export const FEATURES: readonly Feature[] = [
  {
    name: 'Prompt caching: `cache_control` of messages, parts and tools',
    verdicts: {
      openai: 'left out',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'left out',
    },
    request: { messages: MARKED, tools: MARKED_TOOLS },
    sent: {
      openai: {
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'Long rules.' }] },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'A long file.' },
              { type: 'text', text: 'Sum up.' },
            ],
          },
        ],
        tools: [{ type: 'function', function: WEATHER }],
      },
      compatible: { messages: MARKED, tools: MARKED_TOOLS },
      anthropic: {
        system: [{ type: 'text', text: 'Long rules.', ...MARK }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'A long file.', ...MARK },
              { type: 'text', text: 'Sum up.' },
            ],
          },
        ],
        tools: [{ name: 'weather', description: 'Weather of a city.', input_schema: SCHEMA, ...MARK }],
      },
      responses: {
        input: [
          { type: 'message', role: 'system', content: [text('Long rules.')] },
          asked(text('A long file.'), text('Sum up.')),
        ],
        tools: [{ type: 'function', ...WEATHER, strict: false }],
      },
    },
  },
  {
    name: 'Tokens read from and written to a cache',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    answer: {
      ...same(
        completion({ content: 'Hi.' }, 'stop', {
          prompt_tokens: 110,
          total_tokens: 115,
          prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 40 },
        }),
      ),
      anthropic: claude([{ type: 'text', text: 'Hi.' }], 'end_turn', {
        cache_read_input_tokens: 60,
        cache_creation_input_tokens: 40,
      }),
      responses: items([said({ type: 'output_text', text: 'Hi.' })], {
        input_tokens: 110,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 40 },
      }),
    },
    usage: { prompt_tokens: 110, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 40 } },
  },
  {
    name: 'Thinking that the caller switches on (`thinking`)',
    verdicts: {
      openai: 'left out',
      compatible: 'as it came',
      anthropic: 'as it came',
      responses: 'left out',
    },
    request: {
      messages: [user('Think.')],
      max_completion_tokens: 4096,
      thinking: { type: 'enabled', budget_tokens: 1024 },
    },
    sent: {
      ...same<Json>({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
      openai: { thinking: undefined },
      responses: { thinking: undefined },
    },
  },
  {
    name: 'Thoughts and their signatures, and back again in the next turn',
    verdicts: {
      openai: 'left out',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'left out',
    },
    answer: {
      ...same(
        completion(
          { content: null, reasoning_content: 'Two cities.', tool_calls: SIGNED_CALLS },
          'tool_calls',
        ),
      ),
      anthropic: claude([...THOUGHTS, ...USES], 'tool_use'),
      responses: items([
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Two cities.' }] },
        ...CALL_ITEMS,
      ]),
    },
    message: {
      ...same<Json>({ reasoning_content: 'Two cities.', tool_calls: SIGNED_CALLS }),
      anthropic: { reasoning_content: 'Two cities.', thinking_blocks: THOUGHTS, tool_calls: CALLS },
      responses: { reasoning_content: 'Two cities.', tool_calls: CALLS },
    },
    sentBack: {
      openai: { reasoning_content: undefined, tool_calls: SIGNED_CALLS },
      compatible: { reasoning_content: 'Two cities.', tool_calls: SIGNED_CALLS },
      anthropic: { content: [...THOUGHTS, ...USES] },
      responses: { input: [asked(text('Go on.')), ...CALL_ITEMS, ...OUTPUTS('done', 'done')] },
    },
  },
  {
    name: 'Several tool calls at once, and their results',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    request: {
      messages: [user('Weather?'), { role: 'assistant', content: null, tool_calls: CALLS }, ...RESULTS],
      tools: [{ type: 'function', function: WEATHER }],
      parallel_tool_calls: false,
    },
    sent: {
      ...same<Json>({
        messages: [user('Weather?'), { role: 'assistant', content: null, tool_calls: CALLS }, ...RESULTS],
        parallel_tool_calls: false,
      }),
      anthropic: {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
          { role: 'assistant', content: USES },
          {
            role: 'user',
            content: ['snow', 'sun'].map((text, i) => ({
              type: 'tool_result',
              tool_use_id: `call_${i}`,
              content: [{ type: 'text', text }],
            })),
          },
        ],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
      responses: {
        input: [asked(text('Weather?')), ...CALL_ITEMS, ...OUTPUTS('snow', 'sun')],
        parallel_tool_calls: false,
      },
    },
    answer: {
      ...same(completion({ content: null, tool_calls: CALLS }, 'tool_calls')),
      anthropic: claude(USES, 'tool_use'),
      responses: items(CALL_ITEMS),
    },
    message: same<Json>({ content: null, tool_calls: CALLS }),
    finishReason: 'tool_calls',
  },
  {
    name: 'Structured output (`response_format`)',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    request: { messages: [user('Where?')], response_format: FORMAT },
    sent: {
      ...same<Json>({ response_format: FORMAT }),
      anthropic: {
        response_format: undefined,
        output_config: { format: { type: 'json_schema', schema: SCHEMA } },
      },
      responses: {
        response_format: undefined,
        text: { format: { type: 'json_schema', name: 'place', strict: true, schema: SCHEMA } },
      },
    },
    answer: {
      ...same(completion({ content: '{"city":"Oslo"}' })),
      anthropic: claude([{ type: 'text', text: '{"city":"Oslo"}' }]),
      responses: items([said({ type: 'output_text', text: '{"city":"Oslo"}' })]),
    },
    message: same<Json>({ content: '{"city":"Oslo"}' }),
  },
  {
    name: 'Images, as data and by address',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    request: { messages: [user(IMAGES)] },
    sent: {
      ...same<Json>({ messages: [user(IMAGES)] }),
      anthropic: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
              { type: 'image', source: { type: 'url', url: 'https://example.com/cat.jpg' } },
            ],
          },
        ],
      },
      responses: {
        input: [
          asked(
            text('What is it?'),
            { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
            { type: 'input_image', image_url: 'https://example.com/cat.jpg', detail: 'auto' },
          ),
        ],
      },
    },
  },
  {
    name: 'Files (PDF)',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    request: { messages: [user(FILE)] },
    sent: {
      ...same<Json>({ messages: [user(FILE)] }),
      anthropic: {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: PDF },
                title: 'a.pdf',
              },
            ],
          },
        ],
      },
      responses: {
        input: [
          asked({
            type: 'input_file',
            file_data: `data:application/pdf;base64,${PDF}`,
            filename: 'a.pdf',
          }),
        ],
      },
    },
  },
  {
    name: 'Refusals',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    answer: {
      ...same(completion({ content: null, refusal: 'I will not.' }, 'content_filter')),
      anthropic: claude([], 'refusal', {}, { stop_details: { explanation: 'I will not.' } }),
      responses: items(
        [said({ type: 'refusal', refusal: 'I will not.' })],
        {},
        {
          status: 'incomplete',
          incomplete_details: { reason: 'content_filter' },
        },
      ),
    },
    message: same<Json>({ refusal: 'I will not.' }),
    finishReason: 'content_filter',
  },
  {
    name: 'Reasoning effort',
    verdicts: {
      openai: 'as it came',
      compatible: 'as it came',
      anthropic: 'translated',
      responses: 'translated',
    },
    request: { messages: [user('Think.')], reasoning_effort: 'high' },
    sent: {
      ...same<Json>({ reasoning_effort: 'high' }),
      anthropic: { reasoning_effort: undefined, output_config: { effort: 'high' } },
      responses: { reasoning_effort: undefined, reasoning: { effort: 'high' } },
    },
  },
];
