/**
 * Callers who do what an SDK does: they try again after a connection error, a 429 or a 5xx. Half of their requests have an
 * Idempotency-Key, and some of those are sent twice at once. Some are large, and some are not waited for.
 */
import { echoOf } from '../chaos/account.js';
import type { ChatAnswer, Gateway } from '../helpers/gateway.js';
import type { Random } from './random.js';

const TRIES = 12;
const HANG_UP_EVERY = 500;
/** Even: a request with a key. */
const TWIN_EVERY = 10;
const LARGE_EVERY = 7;
const BACKGROUND_EVERY = 9;
const ASK_AGAIN_MS = 200;
const LARGE = 'Grüße. '.repeat(4_000);

/** Callers of each workspace, out of so many. */
export const CROWDS = { small: 1, middle: 2, large: 5 };
const CALLERS_OF = Object.entries(CROWDS).flatMap(([workspace, count]) =>
  Array.from({ length: count }, () => workspace),
);

export class Callers {
  sent = 0;
  answered = 0;
  replayed = 0;
  retries = 0;
  hungUp = 0;
  inBackground = 0;
  readonly lost: string[] = [];
  readonly wrong: string[] = [];
  /** Twins that were both served by a call of their own. */
  readonly servedTwice: string[] = [];
  #latencies: number[] = [];
  #running = true;
  #all: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly gateway: Gateway,
    private readonly random: Random,
    private readonly limit: number,
  ) {}

  start(count: number): void {
    this.#all = Promise.all(Array.from({ length: count }, (_, i) => this.#call(i)));
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#all;
  }

  get done(): boolean {
    return this.sent >= this.limit;
  }

  /** Milliseconds of the answers since the last time it was asked. */
  takeLatencies(): number[] {
    const latencies = this.#latencies;
    this.#latencies = [];
    return latencies;
  }

  async #call(caller: number): Promise<void> {
    const key = this.gateway.keys[CALLERS_OF[caller % CALLERS_OF.length] ?? ''] ?? '';
    while (this.#running && !this.done) {
      const n = this.sent++;
      const text = `soak ${n} ${this.random.next()} ${n % LARGE_EVERY === 0 ? LARGE : ''}`;
      if (n % HANG_UP_EVERY === HANG_UP_EVERY - 1) await this.#hangUp(n, key);
      else if (n % TWIN_EVERY === 0) await this.#askTwice(n, text, key);
      else await this.#ask(n, text, key);
    }
  }

  /** Two requests with one key, at whichever apis: one of them is served, and the other gets that answer. */
  async #askTwice(n: number, text: string, key: string): Promise<void> {
    this.sent++;
    const twins = await Promise.all([this.#ask(n, text, key), this.#ask(n, text, key)]);
    if (twins.every((outcome) => outcome === 'served')) this.servedTwice.push(nameOf(text));
  }

  async #ask(n: number, text: string, key: string): Promise<'served' | 'replayed' | 'lost'> {
    const headers: Record<string, string> = n % 2 === 0 ? { 'idempotency-key': `soak-${n}` } : {};
    const started = performance.now();
    let last = '';
    for (let attempt = 0; attempt < TRIES; attempt++) {
      if (attempt > 0) {
        this.retries++;
        await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** attempt, 4_000)));
      }
      try {
        const { status, body, headers: answered } = await this.#answer(n, text, key, headers);
        if (status === 200) {
          this.answered++;
          const isReplay = answered.has('idempotent-replayed');
          if (isReplay) this.replayed++;
          this.#latencies.push(performance.now() - started);
          const content = body.choices[0].message.content;
          if (content !== echoOf(text)) this.wrong.push(`${content} to ${nameOf(text)}`);
          return isReplay ? 'replayed' : 'served';
        }
        last = `${status} ${body.error.code}`;
        if (status !== 429 && status < 500) break;
      } catch (error) {
        last = String(error instanceof Error ? (error.cause ?? error) : error);
      }
    }
    this.lost.push(`${nameOf(text)}: ${last}`);
    return 'lost';
  }

  #answer(n: number, text: string, key: string, headers: Record<string, string>): Promise<ChatAnswer> {
    const isWaitedFor = n % BACKGROUND_EVERY !== 0 || n % TWIN_EVERY === 0;
    return isWaitedFor ? this.#send(text, key, headers) : this.#askLater(text, key, headers);
  }

  /** A request that its caller does not wait for: its answer is asked for until it is there. */
  async #askLater(text: string, key: string, headers: Record<string, string>): Promise<ChatAnswer> {
    const accepted = await this.#send(text, key, { ...headers, prefer: 'respond-async' });
    if (accepted.status !== 202) return accepted;
    this.inBackground++;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      const url = `${this.random.pick(this.gateway.urls)}${accepted.headers.get('location')}`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } }).catch(() => undefined);
      const isFinal = answer?.headers.get('x-gateway-final') === 'true' || answer?.status === 404;
      if (answer && isFinal)
        return { status: answer.status, headers: answer.headers, body: await answer.json() };
    }
  }

  async #hangUp(n: number, key: string): Promise<void> {
    this.hungUp++;
    const signal = AbortSignal.timeout(Math.round(this.random.between(1, 50)));
    await this.#send(`soak ${n} hung up`, key, {}, signal).catch(() => {});
  }

  #send(text: string, key: string, headers: Record<string, string>, signal?: AbortSignal) {
    const body = { model: 'pair', messages: [{ role: 'user', content: text }] };
    const url = this.random.pick(this.gateway.urls);
    return this.gateway.chat(body, { url, key, headers, ...(signal ? { signal } : {}) });
  }
}

function nameOf(text: string): string {
  return text.slice(0, 40);
}
