/**
 * Applies JSON schemas to texts. A schema is the caller's, and may be made to take for ever or all memory, so this is
 * done in a thread with limits; the schema is interpreted there and never becomes code. The thread is started by the
 * first check and ended by `close`. One that exceeds a limit is ended, the next check has a new one, and the schema is
 * not tried again.
 */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** A text that is to fit a schema. */
export interface Claim {
  /** As JSON. */
  schema: string;
  text: string;
}

/** `unchecked`: it would have taken too much, or the schema is none. */
export type Verdict = 'fits' | 'unfit' | 'unchecked';

const MAX_CHARS = 1_000_000;
const MAX_MEMORY_MB = 64;
const MAX_START_MS = 10_000;
/** An ordinary check takes about a millisecond. */
const MAX_RUN_MS = 1_000;
/** A check that has waited this long for its turn is not made any more. */
const MAX_WAIT_MS = 2_000;
/** How many schemas that exceeded a limit are remembered. */
const MAX_EXCESSIVE = 1_000;

interface Task {
  claims: readonly Claim[];
  asked: number;
  resolve(verdict: Verdict): void;
}

export class SchemaChecker {
  readonly #waiting: Task[] = [];
  readonly #excessive = new Set<string>();
  #running: Task | undefined;
  #thread: Worker | undefined;
  #limit: NodeJS.Timeout | undefined;

  check(claims: readonly Claim[]): Promise<Verdict> {
    const chars = claims.reduce((sum, { schema, text }) => sum + schema.length + text.length, 0);
    if (chars > MAX_CHARS) return Promise.resolve('unchecked');
    if (this.#excessive.size > 0 && claims.some(({ schema }) => this.#excessive.has(digestOf(schema))))
      return Promise.resolve('unchecked');
    return new Promise((resolve) => {
      this.#waiting.push({ claims, asked: performance.now(), resolve });
      this.#runNext();
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#end();
    await thread?.terminate();
  }

  #runNext(): void {
    if (this.#running) return;
    this.#running = this.#waiting.shift();
    if (!this.#running) return;
    if (performance.now() - this.#running.asked > MAX_WAIT_MS) this.#finish('unchecked');
    else if (this.#thread) this.#run();
    else this.#start();
  }

  /** The thread says when it is ready. */
  #start(): void {
    const thread = new Worker(new URL('./check-thread.js', import.meta.url), {
      name: 'answer-check',
      // It has no need of the provider keys.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
    });
    thread.unref();
    this.#thread = thread;
    this.#limit = setTimeout(() => this.#end(), MAX_START_MS);
    const ifCurrent = (act: () => void) => this.#thread === thread && act();
    thread.on('message', (message: Verdict | 'ready') =>
      ifCurrent(() => (message === 'ready' ? this.#run() : this.#finish(message))),
    );
    thread.on('error', () => ifCurrent(() => this.#exceeded()));
    thread.on('exit', () => ifCurrent(() => this.#end()));
  }

  #run(): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => this.#exceeded(), MAX_RUN_MS);
    this.#thread?.postMessage(this.#running?.claims ?? []);
  }

  #exceeded(): void {
    if (this.#excessive.size >= MAX_EXCESSIVE) this.#excessive.clear();
    for (const { schema } of this.#running?.claims ?? []) this.#excessive.add(digestOf(schema));
    this.#end();
  }

  /** Ends the thread too. */
  #end(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
    this.#finish('unchecked');
  }

  #finish(verdict: Verdict): void {
    clearTimeout(this.#limit);
    const task = this.#running;
    this.#running = undefined;
    task?.resolve(verdict);
    this.#runNext();
  }
}

function digestOf(schema: string): string {
  return createHash('sha256').update(schema).digest('base64');
}
