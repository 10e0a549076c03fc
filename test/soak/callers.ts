/** Callers who do what an SDK does: they try again after a connection error, a 429 or a 5xx. Half of them use a key. */
import { echoOf } from '../chaos/account.js';
import type { Gateway } from '../helpers/gateway.js';
import type { Random } from './random.js';

const TRIES = 12;
const HANG_UP_EVERY = 500;

export class Callers {
  sent = 0;
  answered = 0;
  replayed = 0;
  retries = 0;
  hungUp = 0;
  readonly lost: string[] = [];
  readonly wrong: string[] = [];
  #latencies: number[] = [];
  #running = true;
  #all: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly gateway: Gateway,
    private readonly random: Random,
    private readonly limit: number,
  ) {}

  start(count: number): void {
    this.#all = Promise.all(Array.from({ length: count }, () => this.#call()));
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

  async #call(): Promise<void> {
    while (this.#running && !this.done) {
      const n = this.sent++;
      if (n % HANG_UP_EVERY === HANG_UP_EVERY - 1) await this.#hangUp(n);
      else await this.#ask(n, `soak ${n} ${this.random.next()}`);
    }
  }

  async #ask(n: number, text: string): Promise<void> {
    const headers: Record<string, string> = n % 2 === 0 ? { 'idempotency-key': `soak-${n}` } : {};
    const started = performance.now();
    let last = '';
    for (let attempt = 0; attempt < TRIES; attempt++) {
      if (attempt > 0) {
        this.retries++;
        await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** attempt, 4_000)));
      }
      try {
        const { status, body, headers: answered } = await this.#send(text, headers);
        if (status === 200) {
          this.answered++;
          if (answered.has('idempotent-replayed')) this.replayed++;
          this.#latencies.push(performance.now() - started);
          const content = body.choices[0].message.content;
          if (content !== echoOf(text)) this.wrong.push(`${content} to ${text}`);
          return;
        }
        last = `${status} ${body.error.code}`;
        if (status !== 429 && status < 500) break;
      } catch (error) {
        last = String(error instanceof Error ? (error.cause ?? error) : error);
      }
    }
    this.lost.push(`${text}: ${last}`);
  }

  async #hangUp(n: number): Promise<void> {
    this.hungUp++;
    const signal = AbortSignal.timeout(Math.round(this.random.between(1, 50)));
    await this.#send(`soak ${n} hung up`, {}, signal).catch(() => {});
  }

  #send(text: string, headers: Record<string, string>, signal?: AbortSignal) {
    const body = { model: 'pair', messages: [{ role: 'user', content: text }] };
    const url = this.random.pick(this.gateway.urls);
    return this.gateway.chat(body, { url, headers, ...(signal ? { signal } : {}) });
  }
}
