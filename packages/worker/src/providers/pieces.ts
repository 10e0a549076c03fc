import type { TokensSoFar } from './types.js';

/** No vocabulary has longer words on average, in any language. */
const MOST_CHARS_PER_TOKEN = 8;

/** Counts what a stream has brought. A piece is a token at least, and some servers send many tokens in a piece. */
export class PieceCount {
  #pieces = 0;
  #chars = 0;

  get chars(): number {
    return this.#chars;
  }

  add(text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    this.#pieces++;
    this.#chars += text.length;
  }

  /** What the provider itself has said so far counts, where it is more. */
  tokens(said: TokensSoFar = { input: 0, output: 0 }): TokensSoFar {
    const output = Math.max(said.output, this.#pieces, Math.floor(this.#chars / MOST_CHARS_PER_TOKEN));
    return { input: said.input, output };
  }
}
