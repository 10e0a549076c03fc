/**
 * Puts chunks of a chat completion together. Compatible servers send fields of their own, so a field that is not known here
 * is treated by its type, as OpenAI's own clients do: texts are joined, lists are merged by `index`, and of the rest the
 * latest value stays.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import { toPlainNumber } from '@sluice/shared/json/exact';
import { isObject, type JsonObject, parseAnswer } from '../json.js';
import { PieceCount } from '../pieces.js';
import type { SseEvent } from '../sse.js';
import type { Assembler, StreamFormat, TokensSoFar } from '../types.js';

const DONE = '[DONE]';
const MOST_CHOICES = 128;
const MOST_CALLS = 1_024;
const MOST_ITEMS = 4_096;
/** Texts that come whole, and may come again. */
const WHOLE_TEXTS: ReadonlySet<string> = new Set(['role', 'type', 'id', 'format']);
/** What a field takes beside its name and value. */
const FIELD_BYTES = 8;
/** More levels than any field of a message has. */
const DEEPEST = 16;

interface ChoiceSoFar {
  fields: JsonObject;
  message: JsonObject;
  calls: Map<number, JsonObject>;
}

export class ChunkAssembler implements Assembler {
  readonly #fields: JsonObject = {};
  readonly #choices = new Map<number, ChoiceSoFar>();
  readonly #count = new PieceCount();
  #isBroken = false;
  held = 0;
  isComplete = false;

  /** `defaults`: what a whole message has that no piece tells. */
  constructor(private readonly defaults: JsonObject = {}) {}

  take({ data }: SseEvent): boolean {
    if (data === DONE) {
      this.isComplete = true;
      return true;
    }
    const chunk = parseAnswer(data);
    if (!isObject(chunk)) return this.#breaks();
    const { choices, object: _, ...fields } = chunk;
    this.held += putLatest(this.#fields, fields);
    if (Array.isArray(choices)) for (const choice of choices) this.#takeChoice(choice);
    return true;
  }

  body(): unknown {
    if (this.#isBroken || (this.#choices.size === 0 && Object.keys(this.#fields).length === 0))
      return undefined;
    const choices = inOrder(this.#choices).map(({ fields, message, calls }) => ({
      ...fields,
      message: { ...this.defaults, ...message, ...(calls.size > 0 ? { tool_calls: inOrder(calls) } : {}) },
    }));
    return { ...this.#fields, object: 'chat.completion', choices };
  }

  soFar(): TokensSoFar {
    return this.#count.tokens();
  }

  #takeChoice(given: unknown): void {
    const at = isObject(given) ? toIndex(given.index ?? 0, MOST_CHOICES) : undefined;
    if (!isObject(given) || at === undefined) {
      this.#breaks();
      return;
    }
    const { delta, logprobs, ...fields } = given;
    const choice: ChoiceSoFar = this.#choices.get(at) ?? {
      fields: { index: at },
      message: { role: 'assistant' },
      calls: new Map(),
    };
    this.#choices.set(at, choice);
    this.held += putLatest(choice.fields, fields);
    if (logprobs !== undefined) {
      this.held += sizeOf(logprobs);
      choice.fields.logprobs = merged(choice.fields.logprobs, logprobs, 'logprobs');
    }
    if (isObject(delta)) this.#takeDelta(choice, delta);
  }

  #takeDelta({ message, calls }: ChoiceSoFar, delta: JsonObject): void {
    for (const [field, value] of Object.entries(delta)) {
      if (field === 'tool_calls') {
        if (Array.isArray(value)) for (const call of value) this.#takeCall(calls, call);
        continue;
      }
      this.#note(value);
      const before = Object.hasOwn(message, field) ? message[field] : undefined;
      put(message, field, field === 'content' ? joined(before, value) : merged(before, value, field));
    }
  }

  /** Some servers send calls whole and without an index. */
  #takeCall(calls: Map<number, JsonObject>, given: unknown): void {
    if (!isObject(given)) {
      this.#breaks();
      return;
    }
    const { index, ...piece } = given;
    const at = toIndex(index ?? placeOf(calls, piece), MOST_CALLS);
    if (at === undefined) {
      this.#breaks();
      return;
    }
    const { function: named } = piece;
    this.#count.add(isObject(named) ? named.arguments : undefined);
    this.held += sizeOf(piece);
    const call = calls.get(at);
    if (!call) {
      calls.set(at, piece);
      return;
    }
    // The name may come again with every piece of the arguments.
    const begun = isObject(call.function) && Boolean(call.function.arguments);
    const { name: _, ...rest } = isObject(named) ? named : {};
    calls.set(
      at,
      merged(call, begun && isObject(named) ? { ...piece, function: rest } : piece, '') as JsonObject,
    );
  }

  #note(value: unknown): void {
    this.#count.add(value);
    this.held += sizeOf(value);
  }

  #breaks(): true {
    this.#isBroken = true;
    return true;
  }
}

/** Where a call without an index belongs: to the one of the same id, or behind the others. */
function placeOf(calls: ReadonlyMap<number, JsonObject>, { id }: JsonObject): number {
  for (const [at, known] of calls) if (typeof id === 'string' && known.id === id) return at;
  return calls.size;
}

/** A name that would change the object's prototype is no field of any provider. */
function put(fields: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') fields[name] = value;
}

/** Returns how much more there is now. */
function putLatest(fields: JsonObject, latest: JsonObject): number {
  let more = 0;
  for (const [field, value] of Object.entries(latest)) {
    const isKnown = Object.hasOwn(fields, field);
    if (value === null && isKnown) continue;
    more += isKnown ? sizeOf(value) - sizeOf(fields[field]) : sizeOf(value) + field.length + FIELD_BYTES;
    put(fields, field, value);
  }
  return more;
}

function inOrder<T>(parts: ReadonlyMap<number, T>): T[] {
  return [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
}

/** Mistral's reasoning models send some of the content as text and some in parts. */
function joined(before: unknown, value: unknown): unknown {
  const isList = Array.isArray(value);
  if (!isList && !Array.isArray(before)) return merged(before, value, 'content');
  const toParts = (content: unknown): unknown[] => {
    if (Array.isArray(content)) return content;
    return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
  };
  const parts = toParts(before);
  for (const part of toParts(value)) parts.push(part);
  return parts;
}

function merged(before: unknown, value: unknown, field: string, depth = 0): unknown {
  if (value === null || value === undefined) return before === undefined ? value : before;
  if (before === null || before === undefined || depth > DEEPEST) return value;
  if (typeof value === 'string' && typeof before === 'string')
    return WHOLE_TEXTS.has(field) ? value : before + value;
  if (Array.isArray(value) && Array.isArray(before)) {
    for (const item of value) mergeItem(before, item, depth);
    return before;
  }
  if (isObject(value) && isObject(before) && toPlainNumber(value) === value) {
    for (const [name, part] of Object.entries(value)) {
      const old = Object.hasOwn(before, name) ? before[name] : undefined;
      put(before, name, merged(old, part, name, depth + 1));
    }
    return before;
  }
  return value;
}

/** Items with an `index` are pieces of one item. A list that is too long for any answer is not searched. */
function mergeItem(list: unknown[], item: unknown, depth: number): void {
  const index = isObject(item) && list.length <= MOST_ITEMS ? item.index : undefined;
  const at = index === undefined ? -1 : list.findIndex((each) => isObject(each) && each.index === index);
  if (at < 0) list.push(item);
  else list[at] = merged(list[at], item, '', depth + 1);
}

function toIndex(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < most
    ? value
    : undefined;
}

/** About as many characters as the value has as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let size = 8;
  for (const part of Object.values(value)) size += sizeOf(part) + 8;
  return size;
}

/** The bytes of spoken answers cannot be joined. */
function takes({ modalities, audio }: ChatRequest): boolean {
  return (audio ?? null) === null && !(Array.isArray(modalities) && modalities.includes('audio'));
}

const ASKS = { stream: true, stream_options: { include_usage: true } };

/** OpenAI itself. Whole messages have these two fields always, and pieces only with something in them. */
export const chunks: StreamFormat = {
  ask: ASKS,
  takes,
  assemble: () => new ChunkAssembler({ refusal: null, annotations: [] }),
};

export const compatibleChunks: StreamFormat = { ask: ASKS, takes, assemble: () => new ChunkAssembler() };

/** Mistral refuses `stream_options`, and tells the usage without it. */
export const plainChunks: StreamFormat = { ...compatibleChunks, ask: { stream: true } };
