/**
 * Answers to Idempotency-Keys. When several callers of this process get the same answer at the same time, it is read from
 * Redis once, opened once, and in memory once.
 */
import type { Idempotency } from '@sluice/shared/queue/idempotency';
import { answerContext, type Payloads } from '@sluice/shared/queue/payload';

export class SharedAnswers {
  readonly #reading = new Map<string, Promise<Buffer | undefined>>();

  constructor(
    private readonly idempotency: Pick<Idempotency, 'readAnswer'>,
    private readonly payloads: Payloads,
  ) {}

  /** The answer to the request `by`. Undefined when it is no longer kept. */
  read(key: { workspace: string; digest: string }, by: string): Promise<Buffer | undefined> {
    const known = this.#reading.get(by);
    if (known) return known;
    const reading = this.#read(key, by).finally(() => this.#reading.delete(by));
    this.#reading.set(by, reading);
    return reading;
  }

  async #read(key: { workspace: string; digest: string }, by: string): Promise<Buffer | undefined> {
    const sealed = await this.idempotency.readAnswer(key, by);
    if (sealed === undefined) return undefined;
    const { workspace, digest: idempotency } = key;
    return Buffer.from(this.payloads.open(sealed, answerContext({ workspace, idempotency, requestId: by })));
  }
}
