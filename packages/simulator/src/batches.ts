/** Batches of both providers: the lines of a batch are answered one after the other, without the caller. */
import { hash } from 'node:crypto';
import { type Dialect, type Fields, isFields, type ProviderName, Refusal } from './dialect.js';
import type { Setting } from './exchange.js';

export type LineEnd = 'succeeded' | 'errored' | 'canceled' | 'expired';

export interface BatchLine {
  customId: string;
  body: unknown;
  end?: LineEnd;
  status?: number;
  answer?: unknown;
}

export interface SimulatedBatch {
  id: string;
  provider: ProviderName;
  /** The key that made it. Nobody else sees it. */
  key: string;
  createdAt: number;
  endedAt?: number;
  isCancelled: boolean;
  lines: BatchLine[];
  /** Only OpenAI has these: the file, the metadata and what is wrong with the lines. */
  inputFile?: string;
  endpoint?: string;
  metadata?: unknown;
  errors?: Fields[];
}

/** A function may hold a line by its text: the answer waits for the promise. */
export type HoldLine = (text: string) => Promise<unknown> | undefined;

export class Batches {
  /** Oldest first. */
  readonly all: SimulatedBatch[] = [];
  #count = 0;

  constructor(
    private readonly setting: () => Setting,
    private readonly holdLine: HoldLine | undefined,
  ) {}

  add(dialect: Dialect, batch: Omit<SimulatedBatch, 'id' | 'provider' | 'createdAt' | 'isCancelled'>) {
    const number = ++this.#count;
    const id = `${dialect.name === 'openai' ? 'batch_sim' : 'msgbatch_sim'}${number}`;
    const made: SimulatedBatch = {
      ...batch,
      id,
      provider: dialect.name,
      createdAt: Date.now(),
      isCancelled: false,
    };
    this.all.push(made);
    if (made.errors) made.endedAt = Date.now();
    else void this.#run(dialect, made);
    return made;
  }

  /** The batch of this key, or the provider's refusal. */
  find(dialect: Dialect, key: string, id: string): SimulatedBatch {
    const batch = this.all.find((each) => each.id === id && each.key === key);
    if (!batch || batch.provider !== dialect.name) throw dialect.notFound('GET', id);
    return batch;
  }

  /** Those of the key, newest first, after the one with this id. */
  list(dialect: Dialect, key: string, after: string | null, limit: number) {
    const own = this.all.filter((each) => each.key === key && each.provider === dialect.name).reverse();
    const start = after === null ? 0 : own.findIndex(({ id }) => id === after) + 1;
    return { page: own.slice(start, start + limit), more: own.length > start + limit };
  }

  async #run(dialect: Dialect, batch: SimulatedBatch): Promise<void> {
    // The answer that creates the batch comes first.
    await new Promise((resolve) => setImmediate(resolve));
    for (const [i, line] of batch.lines.entries()) {
      const text = dialect.lastUserText(line.body);
      await this.holdLine?.(text);
      if (batch.isCancelled) break;
      this.#answer(dialect, line, text, i);
    }
    for (const line of batch.lines) line.end ??= 'canceled';
    batch.endedAt = Date.now();
  }

  #answer(dialect: Dialect, line: BatchLine, text: string, n: number): void {
    const setting = this.setting();
    const { body } = line;
    const model = isFields(body) && typeof body.model === 'string' ? body.model : null;
    const provider = dialect.name;
    const action = setting.script.take({ provider, model, text, path: dialect.chatPath, chat: true }) ?? {};
    if (action.hang) {
      line.end = 'expired';
      return;
    }
    try {
      if (action.status !== undefined && action.status >= 300) throw dialect.statusRefusal(action.status);
      if (!isFields(body)) throw dialect.badJson();
      dialect.checkBody(body, setting.knowsModel(provider));
      const textHash = hash('sha256', text).slice(0, 16);
      const overrides = provider === 'anthropic' ? { serviceTier: 'batch', ...action } : action;
      line.answer = dialect.answer(body, { n, textHash, userText: text, echo: setting.echo, overrides });
      line.status = 200;
      line.end = 'succeeded';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      line.answer = dialect.errorBody(error, `req_batch${n}`);
      line.status = error.status;
      line.end = 'errored';
    }
  }
}
