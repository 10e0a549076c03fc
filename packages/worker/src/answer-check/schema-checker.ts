/**
 * Applies JSON schemas to texts. A caller can write a schema that takes for ever or all memory. So a thread with limits
 * interprets the schema, which never becomes code. The first check starts the thread, and `close` ends it. A thread that
 * exceeds a limit is ended, the next check gets a new one, and the schema is not tried again.
 *
 * Workspaces take turns. A workspace whose checks take long has to pause. Meanwhile its answers pass unchecked, and those of
 * the other workspaces are checked.
 */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { processMs } from './cpu-time.js';

/** A text that is to fit a schema. */
export interface Claim {
  /** As JSON. */
  schema: string;
  text: string;
}

/** `unchecked`: the check would have taken too much, or the schema is invalid. */
export type Verdict = 'fits' | 'unfit' | 'unchecked';

/** What the thread says of a check. */
export interface Judged {
  verdict: Verdict;
  /** How long it took, of the processor's time at most. */
  tookMs: number;
}

const MAX_CHARS = 1_000_000;
const MAX_MEMORY_MB = 64;
const MAX_START_MS = 10_000;
/** The processor's time for one check. An ordinary check takes about a millisecond. */
const MAX_RUN_MS = 1_000;
/** A check that gets little of the processor's time is given up after this long by the clock. */
const MAX_WHOLE_RUN_MS = 5_000;
/** A check that has waited this long for its turn is skipped. */
const MAX_WAIT_MS = 2_000;
/** How many schemas that exceeded a limit are remembered. */
const MAX_EXCESSIVE = 1_000;
/** After a longer check its workspace pauses for a multiple of that time, so that it gets a tenth of the thread at most. */
const SLOW_MS = 200;
const PAUSE_FACTOR = 10;
/** When there are this many pauses, those that are over are forgotten. */
const MAX_PAUSES = 1_000;

interface Task {
  workspace: string;
  claims: readonly Claim[];
  asked: number;
  resolve(verdict: Verdict): void;
}

export class SchemaChecker {
  /** Workspace → its checks. The first workspace is next. */
  readonly #waiting = new Map<string, Task[]>();
  /** Workspace → the end of its pause. */
  readonly #pauses = new Map<string, number>();
  readonly #excessive = new Set<string>();
  #running: Task | undefined;
  #thread: Worker | undefined;
  #limit: NodeJS.Timeout | undefined;
  /** When the thread got its current check, and how much of the processor's time the process had used by then. */
  #began = { at: 0, cpuMs: 0 };

  /** Other limits are for tests, on machines of any speed. */
  constructor(private readonly limits = { maxWaitMs: MAX_WAIT_MS, slowMs: SLOW_MS }) {}

  check(workspace: string, claims: readonly Claim[]): Promise<Verdict> {
    if (this.#pauses.size > 0 && this.#isPaused(workspace)) return Promise.resolve('unchecked');
    const chars = claims.reduce((sum, { schema, text }) => sum + schema.length + text.length, 0);
    if (chars > MAX_CHARS) return Promise.resolve('unchecked');
    if (this.#excessive.size > 0 && claims.some(({ schema }) => this.#excessive.has(digestOf(schema))))
      return Promise.resolve('unchecked');
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(workspace) ?? [];
      waiting.push({ workspace, claims, asked: performance.now(), resolve });
      this.#waiting.set(workspace, waiting);
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
    this.#running = this.#takeNext();
    if (!this.#running) return;
    const { workspace, asked } = this.#running;
    if (this.#isPaused(workspace) || performance.now() - asked > this.limits.maxWaitMs)
      this.#finish('unchecked', 0);
    else if (this.#thread) this.#run();
    else this.#start();
  }

  /** Takes the next check. Its workspace goes to the end of the order. */
  #takeNext(): Task | undefined {
    for (const [workspace, tasks] of this.#waiting) {
      const task = tasks.shift();
      this.#waiting.delete(workspace);
      if (tasks.length > 0) this.#waiting.set(workspace, tasks);
      return task;
    }
    return undefined;
  }

  #isPaused(workspace: string): boolean {
    return (this.#pauses.get(workspace) ?? 0) > performance.now();
  }

  #pauseIfSlow({ workspace }: Task, tookMs: number): void {
    if (tookMs < this.limits.slowMs) return;
    const now = performance.now();
    if (this.#pauses.size >= MAX_PAUSES)
      for (const [each, until] of this.#pauses) if (until <= now) this.#pauses.delete(each);
    this.#pauses.set(workspace, now + tookMs * PAUSE_FACTOR);
  }

  /** Starts the thread, which sends a message when it is ready. */
  #start(): void {
    const thread = new Worker(new URL('./check-thread.js', import.meta.url), {
      name: 'answer-check',
      // The thread must not see the provider keys.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
    });
    thread.unref();
    this.#thread = thread;
    this.#limit = setTimeout(() => this.#end(), MAX_START_MS);
    const ifCurrent = (act: () => void) => this.#thread === thread && act();
    thread.on('message', (message: Judged | 'ready') =>
      ifCurrent(() => (message === 'ready' ? this.#run() : this.#finish(message.verdict, message.tookMs))),
    );
    thread.on('error', () => ifCurrent(() => this.#exceeded()));
    thread.on('exit', () => ifCurrent(() => this.#end()));
  }

  #run(): void {
    this.#began = { at: performance.now(), cpuMs: processMs() };
    this.#limitTo(MAX_RUN_MS);
    this.#thread?.postMessage(this.#running?.claims ?? []);
  }

  #limitTo(ms: number): void {
    clearTimeout(this.#limit);
    this.#limit = setTimeout(() => {
      // The thread has used no more of the processor's time than the whole process.
      const leftMs = MAX_RUN_MS - (processMs() - this.#began.cpuMs);
      const isOver = performance.now() - this.#began.at > MAX_WHOLE_RUN_MS;
      if (leftMs <= 0 || isOver) this.#exceeded();
      else this.#limitTo(leftMs);
    }, ms);
  }

  #exceeded(): void {
    if (this.#excessive.size >= MAX_EXCESSIVE) this.#excessive.clear();
    for (const { schema } of this.#running?.claims ?? []) this.#excessive.add(digestOf(schema));
    this.#end(Math.min(performance.now() - this.#began.at, MAX_RUN_MS));
  }

  /** Ends the thread and its current check. */
  #end(tookMs = 0): void {
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
    this.#finish('unchecked', tookMs);
  }

  #finish(verdict: Verdict, tookMs: number): void {
    clearTimeout(this.#limit);
    const task = this.#running;
    this.#running = undefined;
    if (task) this.#pauseIfSlow(task, tookMs);
    task?.resolve(verdict);
    this.#runNext();
  }
}

function digestOf(schema: string): string {
  return createHash('sha256').update(schema).digest('base64');
}
