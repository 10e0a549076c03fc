/** OpenAI's Responses API, beside chat completions. */
import {
  asksForTool,
  countChars,
  cutText,
  fullText,
  lastUserText,
  mergeUsage,
  tokensOf,
} from './answer-text.js';
import { type AnswerContext, type Dialect, type Fields, isFields, type ServerName } from './dialect.js';
import { openai, serverDialect } from './openai.js';
import { checkResponsesRequest, thinksByResponses } from './responses-request.js';
import { sampleOf } from './sample-schema.js';
import { responsePieces } from './streams.js';

export const RESPONSES_PATH = '/v1/responses';

export const openaiResponses: Dialect = {
  ...openai,
  chatPath: RESPONSES_PATH,
  checkBody: checkResponsesRequest,
  lastUserText: (body) => lastUserText(asChat(body)),
  answer,
  pieces: responsePieces,
  errorPiece: ({ message, type, param, code }) =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 0, code: code ?? type, message, param })}\n\n`,
};

/** Another server with the same endpoint. It refuses in its own words. */
export function serverResponses(name: ServerName): Dialect {
  const { errorBody } = serverDialect(name);
  return { ...openaiResponses, name, chatPath: `/${name}${RESPONSES_PATH}`, errorBody };
}

/** The messages of a chat that say the same, as far as answers depend on them. */
function asChat(body: unknown): Fields {
  const input = isFields(body) ? body.input : undefined;
  if (typeof input === 'string') return { messages: [{ role: 'user', content: input }] };
  const items = Array.isArray(input) ? input.filter(isFields) : [];
  return {
    messages: items.map(({ role = 'tool', content }) => ({
      role,
      content: Array.isArray(content)
        ? content.filter(isFields).map((part) => ({ type: 'text', text: part.text }))
        : content,
    })),
  };
}

function answer(body: Fields, context: AnswerContext): Fields {
  const { overrides, n } = context;
  const call = overrides.text === undefined ? callFor(body, context) : undefined;
  const limit = typeof body.max_output_tokens === 'number' ? body.max_output_tokens : undefined;
  const cut = cutText(call === undefined ? fullText(context, jsonFormat(body)) : '', [], limit);
  const reason = overrides.finishReason ?? (cut.reason === 'length' ? 'max_output_tokens' : undefined);
  const status = reason === undefined ? 'completed' : 'incomplete';
  const message: Fields = {
    id: `msg_sim${n}`,
    type: 'message',
    status,
    role: 'assistant',
    content: [
      { type: 'output_text', text: cut.text, annotations: [], logprobs: logprobsFor(body, cut.text) },
    ],
  };
  const input = tokensOf(countChars(asChat(body)));
  const output = call === undefined ? cut.tokens : tokensOf(countChars(call));
  const usage = mergeUsage(
    {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
    overrides.usage,
  );
  return {
    id: `resp_sim${n}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    background: body.background === true,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output: overrides.emptyChoices === true ? [] : [...reasoningFor(body, n), call ?? message],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    store: body.store ?? true,
    service_tier: overrides.serviceTier ?? (body.service_tier === 'flex' ? 'flex' : 'default'),
    usage,
  };
}

function reasoningFor(body: Fields, n: number): Fields[] {
  if (!thinksByResponses(body)) return [];
  const asked = isFields(body.reasoning) && (body.reasoning.summary ?? null) !== null;
  const summary = asked ? [{ type: 'summary_text', text: 'It thought about it.' }] : [];
  return [{ id: `rs_sim${n}`, type: 'reasoning', summary }];
}

function callFor(body: Fields, context: AnswerContext): Fields | undefined {
  const { tool_choice: choice } = body;
  if (choice === 'none') return undefined;
  const functions = Array.isArray(body.tools) ? body.tools.filter(isFields) : [];
  const named = isFields(choice) && choice.type === 'function' ? choice.name : undefined;
  const isForced = choice === 'required' || named !== undefined;
  const chat = asChat(body);
  const chosen = functions.find(({ name }) =>
    isForced ? named === undefined || name === named : asksForTool(chat, name),
  );
  if (chosen === undefined) return undefined;
  return {
    id: `fc_sim${context.n}`,
    type: 'function_call',
    status: 'completed',
    call_id: `call_${context.textHash}${context.n}`,
    name: chosen.name,
    arguments: JSON.stringify(isFields(chosen.parameters) ? sampleOf(chosen.parameters) : {}),
  };
}

function jsonFormat({ text }: Fields): { schema?: Fields } | undefined {
  const format = isFields(text) ? text.format : undefined;
  if (!isFields(format) || format.type === 'text') return undefined;
  return isFields(format.schema) ? { schema: format.schema } : {};
}

function logprobsFor({ include, top_logprobs: top }: Fields, text: string): Fields[] {
  if (!Array.isArray(include) || !include.includes('message.output_text.logprobs')) return [];
  const token = text.slice(0, 4);
  const one = { token, logprob: -0.5, bytes: [...Buffer.from(token)] };
  return [{ ...one, top_logprobs: Array.from({ length: Number(top ?? 0) }, () => one) }];
}
