/**
 * Servers that take OpenAI's format, each with the fields that it knows and the words in which it refuses. The simulator is
 * Mistral under `/mistral/v1`, and so on. `together` and `openrouter` leave out what they do not know.
 */
import type { Fields, ServerName } from './dialect.js';
import { Refusal } from './dialect.js';

interface Server {
  /** The only fields that it takes. Without it, it leaves out what it does not know. */
  takes?: ReadonlySet<string>;
  /** The only fields of a message that it takes. */
  takesInMessages?: ReadonlySet<string>;
  /** Refuses fields that it does not know. A path is `['store']`, or `['messages', 0, 'user', 'name']`. */
  refuseUnknown?(unknown: readonly UnknownField[]): Refusal;
  errorBody(refusal: Refusal): unknown;
  source: string;
}

export interface UnknownField {
  name: string;
  value: unknown;
  /** Of a message. */
  message?: { i: number; role: string };
}

const set = (names: string) => new Set(names.trim().split(/\s+/));
const bad = (message: string) => new Refusal(400, message, 'invalid_request_error');

const COMMON = `model messages temperature top_p max_tokens stream stop response_format tools tool_choice presence_penalty
  frequency_penalty n parallel_tool_calls reasoning_effort`;

export const SERVERS: Readonly<Record<ServerName, Server>> = {
  mistral: {
    takes: set(
      `${COMMON} random_seed metadata prediction prompt_mode guardrails prompt_cache_key safe_prompt logprobs`,
    ),
    takesInMessages: set('role content tool_calls tool_call_id prefix'),
    refuseUnknown(unknown) {
      const detail = unknown.map(({ name, value, message }) => ({
        type: 'extra_forbidden',
        loc: ['body', ...(message ? ['messages', message.i, message.role] : []), name],
        msg: 'Extra inputs are not permitted',
        input: value,
      }));
      return new Refusal(422, JSON.stringify({ detail }), 'invalid_request_error');
    },
    errorBody: ({ status, message, type, code }) => ({
      object: 'error',
      // A list of what is wrong with the fields comes as it is.
      message: status === 422 ? JSON.parse(message) : message,
      type,
      param: null,
      code,
    }),
    source: 'https://github.com/editor-code-assistant/eca/issues/231',
  },
  groq: {
    takes:
      set(`${COMMON} max_completion_tokens seed user service_tier logprobs logit_bias top_logprobs metadata stream_options
      functions function_call reasoning_format include_reasoning`),
    takesInMessages: set('role content name tool_calls tool_call_id function_call refusal'),
    refuseUnknown([first]) {
      const { name, message } = first ?? { name: '' };
      const plain = `property '${name}' is unsupported`;
      if (message === undefined) return bad(plain);
      const place = `'messages.${message.i}'`;
      return bad(
        `${place} : for 'role:${message.role}' the following must be satisfied[(${place} : ${plain})]`,
      );
    },
    errorBody: ({ message, type, param }) => ({ error: { message, type, ...(param && { param }) } }),
    source: 'https://github.com/fanenr/chatbot/issues/21',
  },
  deepseek: {
    errorBody: ({ message, type }) => ({ error: { message, type, param: null, code: type } }),
    source: 'https://github.com/llm-exe/llm-exe/issues/662',
  },
  xai: {
    errorBody: ({ message }) => ({ code: 'invalid-argument', error: message }),
    source: 'https://docs.rs/crate/mindfork/0.17.0/source/src/shared/api/openai/xai_tests.rs',
  },
  gemini: {
    takes: set(
      `${COMMON} max_completion_tokens user stream_options extra_body modalities audio logprobs top_logprobs thinking`,
    ),
    refuseUnknown: (unknown) =>
      bad(
        unknown
          .map(({ name }) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`)
          .join('\n'),
      ),
    errorBody({ status, message }) {
      const fieldViolations = message.split('\n').map((description) => ({ description }));
      const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
      return [{ error: { code: status, message, status: 'INVALID_ARGUMENT', details } }];
    },
    source: 'https://github.com/liliMozi/openhanako/issues/394',
  },
  fireworks: {
    takes:
      set(`${COMMON} max_completion_tokens seed user service_tier logprobs top_logprobs logit_bias prompt_cache_key
      prediction stream_options top_k min_p thinking metadata`),
    refuseUnknown: ([first]) =>
      bad(`Extra inputs are not permitted, field: '${first?.name}', value: ${JSON.stringify(first?.value)}`),
    errorBody: ({ message, type }) => ({ error: { object: 'error', type, message } }),
    source: 'https://github.com/vercel/ai/pull/18306',
  },
  cerebras: {
    takes:
      set(`${COMMON} max_completion_tokens seed user service_tier logprobs top_logprobs logit_bias stream_options
      prediction reasoning_format clear_thinking`),
    takesInMessages: set('role content name tool_calls tool_call_id reasoning'),
    refuseUnknown([first]) {
      const { name, message } = first ?? { name: '' };
      const path = message === undefined ? name : `messages.${message.i}.${message.role}.${name}`;
      return bad(`${path}: property '${path}' is unsupported`);
    },
    errorBody: ({ message, type }) => ({
      message,
      type,
      param: 'validation_error',
      code: 'wrong_api_format',
    }),
    source: 'https://github.com/egoist/chatwise-releases/issues/1442',
  },
  bedrock: {
    errorBody: ({ message, type, code }) => ({ error: { message, type, param: null, code } }),
    source: 'https://github.com/CherryHQ/cherry-studio/issues/9655',
  },
  together: {
    errorBody: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
    source: 'https://docs.together.ai/docs/inference/openai-compatibility',
  },
  openrouter: {
    errorBody: ({ status, message }) => ({ error: { message, code: status } }),
    source: 'https://openrouter.ai/docs/api/reference/errors-and-debugging',
  },
};

/** What the server does not know of a body in OpenAI's format. */
export function unknownFields({ takes, takesInMessages }: Server, body: Fields): UnknownField[] {
  const found: UnknownField[] = [];
  if (takes !== undefined)
    for (const [name, value] of Object.entries(body)) if (!takes.has(name)) found.push({ name, value });
  if (takesInMessages === undefined || !Array.isArray(body.messages)) return found;
  for (const [i, message] of (body.messages as Fields[]).entries())
    for (const [name, value] of Object.entries(message))
      if (!takesInMessages.has(name) && !(name === 'name' && message.role === 'tool'))
        found.push({ name, value, message: { i, role: String(message.role) } });
  return found;
}
