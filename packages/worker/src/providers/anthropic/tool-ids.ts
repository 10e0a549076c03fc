import { createHash } from 'node:crypto';

const TAKEN = /^[a-zA-Z0-9_-]+$/;

/**
 * The ids of tool calls, as Anthropic takes them. Anthropic allows letters, digits, `_` and `-`, and wants each id for one
 * call of the conversation only. Other clients and models use other characters, or count from zero in every message. So an id
 * that Anthropic would refuse is replaced. The caller never sees the replacement, because an answer has new calls only, with
 * ids that Anthropic made.
 */
export class ToolIds {
  readonly #used = new Set<string>();
  /** By the caller's id: what its latest call is known by, and how often it was used. */
  readonly #latest = new Map<string, { own: string; uses: number }>();

  ofCall(id: string): string {
    let uses = this.#latest.get(id)?.uses ?? 0;
    let own = uses === 0 && TAKEN.test(id) ? id : standIn(id, uses);
    while (this.#used.has(own)) own = standIn(id, ++uses);
    this.#used.add(own);
    this.#latest.set(id, { own, uses: uses + 1 });
    return own;
  }

  ofResult(id: string): string {
    return this.#latest.get(id)?.own ?? (TAKEN.test(id) ? id : standIn(id, 0));
  }
}

/** One can still see in an error of Anthropic's which call is meant. */
function standIn(id: string, uses: number): string {
  const digest = createHash('sha256').update(`${uses} ${id}`).digest('hex').slice(0, 16);
  return `${id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 40)}-${digest}`;
}
