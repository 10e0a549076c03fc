/** The last event of a Responses stream has the whole response. The others show that it goes on, and what there is so far. */
import { isObject, type JsonObject, parseAnswer } from '../json.js';
import { PieceCount } from '../pieces.js';
import type { SseEvent } from '../sse.js';
import type { Assembler, StreamFormat, TokensSoFar } from '../types.js';

const LAST: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);
const SIGNS_OF_LIFE: ReadonlySet<unknown> = new Set(['keepalive', 'ping']);
const MOST_ITEMS = 4_096;

export class ResponseAssembler implements Assembler {
  #response: JsonObject | undefined;
  /** By their places in the output. Some servers send them in their own events only. */
  readonly #items = new Map<number, unknown>();
  readonly #count = new PieceCount();
  #isBroken = false;
  held = 0;
  isComplete = false;

  take({ data }: SseEvent): boolean {
    if (data === '[DONE]') return true;
    const event = parseAnswer(data);
    if (!isObject(event)) {
      this.#isBroken = true;
      return true;
    }
    if (SIGNS_OF_LIFE.has(event.type)) return false;
    this.#take(event, data.length);
    return true;
  }

  body(): unknown {
    if (this.#isBroken || !this.#response) return undefined;
    const { output } = this.#response;
    const isTold = Array.isArray(output) && output.length > 0;
    if (isTold || this.#items.size === 0) return this.#response;
    const items = [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
    return { ...this.#response, output: items };
  }

  soFar(): TokensSoFar {
    return this.#count.tokens();
  }

  #take(event: JsonObject, size: number): void {
    const { type, response, delta, item, output_index: place } = event;
    this.#count.add(delta);
    if (isObject(response)) this.#response = response;
    if (type === 'response.output_item.done' && this.#items.size < MOST_ITEMS) {
      // One that comes again is the same item.
      this.#items.set(typeof place === 'number' ? place : this.#items.size, item);
      this.held += size;
    }
    if (LAST.has(type)) {
      this.isComplete = true;
      this.held += size;
    }
    if (type !== 'error') return;
    const { type: _, sequence_number: __, error, ...own } = event;
    this.#response = { ...this.#response, status: 'failed', error: isObject(error) ? error : own };
    this.isComplete = true;
  }
}

export const responseEvents: StreamFormat = {
  ask: { stream: true },
  takes: () => true,
  assemble: () => new ResponseAssembler(),
};
