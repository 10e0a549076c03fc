/** Puts the events of Anthropic's streams together to the message that they are about. */
import { isObject, type JsonObject, parseAnswer, toTokenCount } from '../json.js';
import { PieceCount } from '../pieces.js';
import type { SseEvent } from '../sse.js';
import type { Assembler, StreamFormat, TokensSoFar } from '../types.js';

const MOST_BLOCKS = 4_096;
/** Of the message itself, by which it tells its end and its usage. */
const MOST_CHANGES = 1_000;
/** By the type of a delta: the field of the block that it continues. */
const CONTINUED: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
};

export class EventAssembler implements Assembler {
  #message: JsonObject | undefined;
  readonly #blocks: JsonObject[] = [];
  /** The arguments of tools come as pieces of JSON. */
  readonly #inputs = new Map<JsonObject, string>();
  readonly #count = new PieceCount();
  #isBroken = false;
  #changes = 0;
  held = 0;
  isComplete = false;

  take({ data }: SseEvent): boolean {
    const event = parseAnswer(data);
    if (!isObject(event)) {
      this.#isBroken = true;
      return true;
    }
    if (event.type === 'ping') return false;
    this.#take(event);
    return true;
  }

  body(): unknown {
    if (this.#isBroken || !this.#message) return undefined;
    for (const [block, json] of this.#inputs) block.input = this.#toInput(json);
    return { ...this.#message, content: this.#blocks };
  }

  soFar(): TokensSoFar {
    const usage = isObject(this.#message?.usage) ? this.#message.usage : {};
    const input = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
      .map((field) => toTokenCount(usage[field]))
      .reduce((sum, count) => sum + count, 0);
    return this.#count.tokens({ input, output: toTokenCount(usage.output_tokens) });
  }

  #take(event: JsonObject): void {
    const { type, index, message, content_block: block, delta, usage, error } = event;
    switch (type) {
      case 'message_start':
        if (isObject(message)) this.#message = message;
        break;
      case 'content_block_start':
        if (!isObject(block) || index !== this.#blocks.length || this.#blocks.length >= MOST_BLOCKS)
          this.#isBroken = true;
        else this.#begin(block);
        break;
      case 'content_block_delta':
        this.#continue(typeof index === 'number' ? this.#blocks[index] : undefined, delta);
        break;
      case 'message_delta':
        if (isObject(delta)) this.#change(delta);
        if (isObject(usage)) this.#addUsage(usage);
        break;
      case 'message_stop':
        this.isComplete = true;
        break;
      case 'error':
        this.#message = { ...this.#message, error };
        this.isComplete = true;
        break;
      // New types of events may come at any time, and are to be left out.
      default:
    }
  }

  #begin(block: JsonObject): void {
    this.#blocks.push(block);
    for (const value of Object.values(block)) this.#note(value);
  }

  #continue(block: JsonObject | undefined, delta: unknown): void {
    if (!block || !isObject(delta)) {
      this.#isBroken = true;
      return;
    }
    const type = String(delta.type);
    const field = Object.hasOwn(CONTINUED, type) ? CONTINUED[type] : undefined;
    if (field !== undefined) {
      const piece = delta[field];
      this.#note(piece);
      block[field] = `${String(block[field] ?? '')}${String(piece ?? '')}`;
    } else if (type === 'input_json_delta') {
      this.#note(delta.partial_json);
      this.#inputs.set(block, (this.#inputs.get(block) ?? '') + String(delta.partial_json ?? ''));
    } else if (type === 'citations_delta') {
      if (!Array.isArray(block.citations)) block.citations = [];
      (block.citations as unknown[]).push(delta.citation);
      this.#note(JSON.stringify(delta.citation));
    }
  }

  /** The numbers are those of the whole message so far. */
  #addUsage(usage: JsonObject): void {
    const before = isObject(this.#message?.usage) ? this.#message.usage : {};
    const known = Object.entries(usage).filter(([, value]) => value !== null);
    this.#change({ usage: { ...before, ...Object.fromEntries(known) } });
  }

  /** A message changes once or twice. One that changes all the time is none. */
  #change(fields: JsonObject): void {
    if (++this.#changes > MOST_CHANGES) this.#isBroken = true;
    if (this.#isBroken) return;
    this.held += JSON.stringify(fields).length;
    this.#message = { ...this.#message, ...fields };
  }

  /** An answer that was cut may end in the middle of them. Anywhere else that is no answer. */
  #toInput(json: string): unknown {
    if (json === '') return {};
    const input = parseAnswer(json);
    if (isObject(input) || this.#message?.stop_reason === 'tool_use') return input ?? json;
    return {};
  }

  #note(text: unknown): void {
    this.#count.add(text);
    if (typeof text === 'string') this.held += text.length;
  }
}

export const messageEvents: StreamFormat = {
  ask: { stream: true },
  takes: () => true,
  assemble: () => new EventAssembler(),
};
