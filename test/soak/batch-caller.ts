/** A caller who has lines answered by one batch after the other. Each line must be in one of the two files of its batch, once. */
import OpenAI from 'openai';
import { echoOf } from '../chaos/account.js';
import { batchEnd, createBatch, line, type ResultLine, readResults, toJsonl } from '../helpers/batches.js';
import type { Gateway } from '../helpers/gateway.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

const LINES = 200;

export class BatchCaller {
  batches = 0;
  lines = 0;
  /** Lines that no provider could serve, and whose batch says so. */
  refused = 0;
  readonly wrong: string[] = [];
  #running = true;
  #loop: Promise<void> = Promise.resolve();

  constructor(private readonly gateway: Gateway) {}

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (this.#running) await this.#batch();
  }

  async #batch(): Promise<void> {
    const name = `batch ${this.batches++}`;
    const texts = Array.from({ length: LINES }, (_, i) => `soak ${name} line ${i}`);
    const content = toJsonl(texts.map((text) => line(text, text, 'pair')));
    const { id } = await this.#ask(`${name} is made`, (client) => createBatch(client, content));
    const ended = await batchEnd(this.#client(), id);
    const served = await this.#ask(`what ${name} served`, (client) =>
      readResults(client, ended.output_file_id),
    );
    const failed = await this.#ask(`what ${name} refused`, (client) =>
      readResults(client, ended.error_file_id),
    );
    this.lines += LINES;
    this.refused += failed.length;
    const ids = [...served, ...failed].map(({ custom_id }) => custom_id);
    if (ended.status !== 'completed') this.wrong.push(`${name} is ${ended.status}`);
    if (new Set(ids).size !== LINES || ids.length !== LINES)
      this.wrong.push(`${name} has ${ids.length} results of ${new Set(ids).size} lines`);
    for (const result of served)
      if (contentOf(result) !== echoOf(result.custom_id)) this.wrong.push(`${name}: ${result.custom_id}`);
  }

  /** Apis end and Redis stands still meanwhile, so it asks until it is answered. */
  #ask<T>(what: string, send: (client: OpenAI) => Promise<T>): Promise<T> {
    return until(what, async () => {
      try {
        return { answer: await send(this.#client()) };
      } catch (error) {
        const passes =
          error instanceof OpenAI.APIConnectionError || error instanceof OpenAI.InternalServerError;
        if (!passes) throw error;
        return undefined;
      }
    }).then(({ answer }) => answer);
  }

  /** The first api is never ended. */
  #client(): OpenAI {
    return sdkFor(this.gateway, { apiKey: this.gateway.keys.middle ?? '' });
  }
}

function contentOf({ response }: ResultLine): unknown {
  const body = response?.body as { choices?: { message: { content: string } }[] } | undefined;
  return body?.choices?.[0]?.message.content;
}
