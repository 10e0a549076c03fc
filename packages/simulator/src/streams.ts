/** Answers in pieces: the events in which each provider tells the answer that it would otherwise send whole. */
import { type Fields, isFields } from './dialect.js';

/** Of different lengths, as tokens are, and never within a character. */
function cut(text: string): string[] {
  const letters = [...text];
  const pieces: string[] = [];
  for (let at = 0, size = 1; at < letters.length; at += size, size = (size % 7) + 1)
    pieces.push(letters.slice(at, at + size).join(''));
  return pieces;
}

const event = (fields: Fields, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(fields)}\n\n`;

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

/** Chunks of a chat completion. The usage comes last, and only if it was asked for. */
export function chatPieces(answer: Fields, body: Fields): string[] {
  const { choices, usage, ...head } = answer;
  const isAsked = isFields(body.stream_options) && body.stream_options.include_usage === true;
  const chunk = (more: Fields) =>
    event({ ...head, object: 'chat.completion.chunk', ...(isAsked ? { usage: null } : {}), ...more });
  return [
    ...listOf(choices).flatMap((choice) => choicePieces(choice).map((piece) => chunk({ choices: [piece] }))),
    ...(isAsked && usage !== undefined ? [chunk({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ];
}

/** Fields of a message that come as text in pieces. */
const TEXTS = ['reasoning_content', 'reasoning', 'content', 'refusal'];

function choicePieces({ message, logprobs = null, index, finish_reason: reason, ...rest }: Fields): Fields[] {
  const { tool_calls: calls, annotations, ...whole } = isFields(message) ? message : {};
  const texts = TEXTS.filter((field) => typeof whole[field] === 'string');
  const others = Object.entries(whole).filter(([field]) => !texts.includes(field));
  const noted = Array.isArray(annotations) && annotations.length > 0 ? { annotations } : {};
  const begins = {
    ...Object.fromEntries([...others, ...texts.map((field) => [field, ''])]),
    ...noted,
  };
  const deltas: Fields[] = [
    begins,
    ...texts.flatMap((field) => cut(String(whole[field])).map((piece) => ({ [field]: piece }))),
    ...listOf(calls).flatMap(callPieces),
  ];
  return [
    ...deltas.map((delta, i) => ({
      index,
      delta,
      logprobs: i === 0 ? null : logprobsOf(logprobs, i - 1, i === deltas.length - 1),
      finish_reason: null,
    })),
    { ...rest, index, delta: {}, logprobs: deltas.length === 1 ? logprobs : null, finish_reason: reason },
  ];
}

/** One for each piece, and the rest with the last one. */
function logprobsOf(logprobs: unknown, at: number, isLast: boolean): unknown {
  if (!isFields(logprobs)) return null;
  const part = (list: unknown) => (Array.isArray(list) ? list.slice(at, isLast ? undefined : at + 1) : list);
  return Object.fromEntries(Object.entries(logprobs).map(([field, list]) => [field, part(list)]));
}

function callPieces(call: Fields, index: number): Fields[] {
  const named = isFields(call.function) ? call.function : undefined;
  if (!named) return [{ tool_calls: [{ index, ...call }] }];
  return [
    { tool_calls: [{ index, ...call, function: { ...named, arguments: '' } }] },
    ...cut(String(named.arguments)).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ];
}

/** The events of a message. Pings come in between. */
export function messagePieces(answer: Fields): string[] {
  const { content, stop_reason, stop_sequence, usage, ...head } = answer;
  const { stop_details: details, ...rest } = head;
  const { output_tokens: output, ...input } = isFields(usage) ? usage : {};
  const of = (type: string, fields: Fields) => event({ type, ...fields }, type);
  const begun = { ...rest, content: [], stop_reason: null, stop_sequence: null };
  const delta = { stop_reason, stop_sequence, ...(details === undefined ? {} : { stop_details: details }) };
  return [
    of('message_start', {
      message: { ...begun, ...(isFields(usage) ? { usage: { ...input, output_tokens: 1 } } : {}) },
    }),
    of('ping', {}),
    ...listOf(content).flatMap((block, index) => [
      of('content_block_start', { index, content_block: emptied(block) }),
      ...blockDeltas(block).map((each) => of('content_block_delta', { index, delta: each })),
      of('content_block_stop', { index }),
    ]),
    of('message_delta', { delta, ...(isFields(usage) ? { usage: { output_tokens: output } } : {}) }),
    of('message_stop', {}),
  ];
}

function emptied(block: Fields): Fields {
  const { citations: _, ...begun } = block;
  if (block.type === 'text') return { ...begun, text: '' };
  if (block.type === 'tool_use') return { ...begun, input: {} };
  return block.type === 'thinking' ? { ...begun, thinking: '', signature: '' } : begun;
}

function blockDeltas(block: Fields): Fields[] {
  if (block.type === 'text')
    return [
      ...cut(String(block.text)).map((text) => ({ type: 'text_delta', text })),
      ...listOf(block.citations).map((citation) => ({ type: 'citations_delta', citation })),
    ];
  if (block.type === 'tool_use')
    return ['', ...cut(JSON.stringify(block.input))].map((piece) => ({
      type: 'input_json_delta',
      partial_json: piece,
    }));
  if (block.type !== 'thinking') return [];
  return [
    ...cut(String(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ];
}

/** The events of a response. The last one has all of it. */
export function responsePieces(answer: Fields): string[] {
  const { output, status, usage: _, incomplete_details: __, error: ___, ...head } = answer;
  const events: string[] = [];
  const add = (type: string, fields: Fields) =>
    events.push(event({ type, sequence_number: events.length, ...fields }, type));
  const begun = {
    ...head,
    ...{ status: 'in_progress', output: [], usage: null, error: null, incomplete_details: null },
  };
  add('response.created', { response: begun });
  add('response.in_progress', { response: begun });
  for (const [i, item] of listOf(output).entries()) {
    add('response.output_item.added', { output_index: i, item: { ...item, status: 'in_progress' } });
    for (const [type, delta] of itemDeltas(item))
      add(type, { item_id: item.id, output_index: i, content_index: 0, delta });
    add('response.output_item.done', { output_index: i, item });
  }
  add(`response.${String(status)}`, { response: answer });
  return events;
}

function itemDeltas(item: Fields): [type: string, delta: string][] {
  const pieces = (type: string, text: unknown) =>
    cut(String(text ?? '')).map((piece): [string, string] => [`response.${type}.delta`, piece]);
  if (item.type === 'function_call') return pieces('function_call_arguments', item.arguments);
  const summaries = listOf(item.summary).flatMap(({ text }) => pieces('reasoning_summary_text', text));
  return [
    ...summaries,
    ...listOf(item.content).flatMap(({ type, text, refusal }) =>
      type === 'refusal' ? pieces('refusal', refusal) : pieces('output_text', text),
    ),
  ];
}
