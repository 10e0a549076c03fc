/**
 * Limits per minute as the providers have them, kept strictly: for each key, in any 60 seconds. OpenAI counts the prompt and
 * the limit of the answer when a request arrives; Anthropic counts the prompt then, and the answer as it is written.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dialect, type Fields, isFields, Refusal } from './dialect.js';

export interface StrictLimits {
  requestsPerMinute?: number;
  /** Prompt and answer together. */
  tokensPerMinute?: number;
  inputTokensPerMinute?: number;
  outputTokensPerMinute?: number;
  /** Calls at a time, over all keys. The refusal says no more than 429. */
  concurrent?: number;
  /** The limits are kept in so much less than a minute, and as much less may be used in it. */
  windowMs?: number;
  /** False: no header tells of the limits. */
  announced?: boolean;
}

const MINUTE_MS = 60_000;
/** When a request does not say how long its answer may be. */
const USUAL_OUTPUT_TOKENS = 16;

type Kind = 'requests' | 'tokens' | 'input-tokens' | 'output-tokens';
const KINDS: readonly Kind[] = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/** The counts of one call. */
interface Counted extends Record<Kind, number> {
  at: number;
}

export class RateLimiter {
  readonly #limits: Record<Kind, number | undefined>;
  readonly #windowMs: number;
  readonly #isAnnounced: boolean;
  readonly #byKey = new Map<string, Counted[]>();
  #refused = 0;
  #running = 0;
  /** Calls at a time. A test may change it while the simulator runs. */
  concurrent: number | undefined;

  constructor(
    limits: StrictLimits,
    private readonly now = () => Date.now(),
  ) {
    this.concurrent = limits.concurrent;
    const { windowMs = MINUTE_MS, announced = true } = limits;
    this.#windowMs = windowMs;
    this.#isAnnounced = announced;
    const inWindow = (perMinute: number | undefined) =>
      perMinute === undefined ? undefined : Math.max(1, Math.floor((perMinute * windowMs) / MINUTE_MS));
    this.#limits = {
      requests: inWindow(limits.requestsPerMinute),
      tokens: inWindow(limits.tokensPerMinute),
      'input-tokens': inWindow(limits.inputTokensPerMinute),
      'output-tokens': inWindow(limits.outputTokensPerMinute),
    };
  }

  /** How many calls were refused. */
  get refused(): number {
    return this.#refused;
  }

  /** The counts of all keys from one moment to another. */
  countedBetween(from: number, to: number): Record<Kind, number> {
    const sums: Record<Kind, number> = { requests: 0, tokens: 0, 'input-tokens': 0, 'output-tokens': 0 };
    for (const calls of this.#byKey.values())
      for (const call of calls)
        if (call.at >= from && call.at < to) for (const kind of KINDS) sums[kind] += call[kind];
    return sums;
  }

  /** A call has arrived. Throws the provider's 429 when too many run; otherwise returns what to call at the call's end. */
  enter(dialect: Dialect): () => void {
    if (this.concurrent !== undefined && this.#running >= this.concurrent) {
      this.#refused++;
      throw crowded(dialect);
    }
    this.#running++;
    return () => {
      this.#running--;
    };
  }

  /** Throws the provider's 429; otherwise returns what to call with the answer's usage. */
  admit(dialect: Dialect, headers: IncomingHttpHeaders, body: unknown): (answer: Fields) => void {
    const calls = this.#callsOf(headers);
    const prompt = promptTokens(body);
    const call: Counted = {
      at: this.now(),
      requests: 1,
      tokens: prompt + outputLimit(body),
      'input-tokens': prompt,
      'output-tokens': 0,
    };
    for (const kind of KINDS) {
      const limit = this.#limits[kind];
      // An answer is counted as it is written: what has been written so far decides.
      const asked = kind === 'output-tokens' ? 1 : call[kind];
      if (limit === undefined || this.#used(calls, kind) + asked <= limit) continue;
      this.#refused++;
      throw refusal(dialect, kind, (limit * MINUTE_MS) / this.#windowMs, this.#used(calls, kind), asked);
    }
    calls.push(call);
    return (answer) => {
      call['output-tokens'] = outputTokens(answer);
    };
  }

  /** The headers that the provider sends with an answer. */
  headers(dialect: Dialect, headers: IncomingHttpHeaders): Record<string, string> {
    if (!this.#isAnnounced) return {};
    const calls = this.#callsOf(headers);
    return Object.fromEntries(
      KINDS.flatMap((kind) => {
        const limit = this.#limits[kind];
        if (limit === undefined) return [];
        const used = Math.min(limit, this.#used(calls, kind));
        const left = String(limit - used);
        // The limit fills up steadily.
        const resetMs = Math.ceil((used / limit) * this.#windowMs);
        const name = (word: string) =>
          dialect.name === 'openai' ? `x-ratelimit-${word}-${kind}` : `anthropic-ratelimit-${kind}-${word}`;
        return [
          [name('limit'), String(limit)],
          [name('remaining'), left],
          [
            name('reset'),
            dialect.name === 'openai' ? `${resetMs}ms` : new Date(Date.now() + resetMs).toISOString(),
          ],
        ];
      }),
    );
  }

  #callsOf(headers: IncomingHttpHeaders): Counted[] {
    const key = String(headers.authorization ?? headers['x-api-key'] ?? '');
    const calls = this.#byKey.get(key) ?? [];
    this.#byKey.set(key, calls);
    return calls;
  }

  #used(calls: readonly Counted[], kind: Kind): number {
    const from = this.now() - this.#windowMs;
    let sum = 0;
    for (let i = calls.length - 1; i >= 0; i--) {
      const call = calls[i];
      if (!call || call.at <= from) break;
      sum += call[kind];
    }
    return sum;
  }
}

function crowded(dialect: Dialect): Refusal {
  const message = 'Too many requests';
  if (dialect.name === 'anthropic') return new Refusal(429, message, 'rate_limit_error');
  return new Refusal(429, message, 'requests', null, 'rate_limit_exceeded');
}

function refusal(dialect: Dialect, kind: Kind, limit: number, used: number, asked: number): Refusal {
  const message = `Rate limit reached on ${kind} per min: Limit ${limit}, Used ${used}, Requested ${asked}.`;
  if (dialect.name === 'anthropic') return new Refusal(429, message, 'rate_limit_error');
  return new Refusal(429, message, kind, null, 'rate_limit_exceeded');
}

function promptTokens(body: unknown): number {
  const parts = isFields(body) ? [body.messages, body.system, body.input] : [];
  return Math.max(1, Math.ceil(parts.reduce<number>((sum, part) => sum + textLength(part), 0) / 4));
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + textLength(each), 0);
  return isFields(value) ? textLength(value.content ?? value.text) : 0;
}

function outputLimit(body: unknown): number {
  const named = isFields(body)
    ? (body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens)
    : undefined;
  return typeof named === 'number' ? named : USUAL_OUTPUT_TOKENS;
}

function outputTokens({ usage }: Fields): number {
  if (!isFields(usage)) return 0;
  return Number(usage.completion_tokens ?? usage.output_tokens ?? 0);
}
