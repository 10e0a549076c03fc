import type { IncomingHttpHeaders } from 'node:http';
import type { ProviderName } from './dialect.js';

export interface Call {
  /** Counts from 1 over the simulator's life, across resets. */
  n: number;
  provider: ProviderName;
  path: string;
  model: string | null;
  requestId: string;
  /** Milliseconds since the epoch; a call starts when its body has arrived. */
  startedAt: number;
  endedAt: number | null;
  /** Null when no status was sent. */
  status: number | null;
  /** The client closed the connection before the answer was complete. */
  aborted: boolean;
  textHash: string;
  /** Calls of this provider under way when this one started, itself included. */
  concurrency: number;
  headers?: IncomingHttpHeaders;
  body?: unknown;
}

export interface Gauge {
  calls: number;
  current: number;
  peak: number;
}

export interface Stats {
  providers: Record<string, Gauge>;
  models: Record<string, Gauge>;
}

/**
 * What upstream saw: the judge of every chaos run. A call is counted as under way from its whole body's arrival
 * until just before its last byte leaves, so a client that keeps a limit of n is never counted above n.
 */
export class CallLog {
  readonly calls: Call[] = [];
  readonly #maxCalls: number;
  readonly #providers = new Map<string, Gauge>();
  readonly #models = new Map<string, Gauge>();

  /** `onChange` is told when a call begins and when it ends. */
  constructor(
    maxCalls: number,
    private readonly onChange = () => {},
  ) {
    this.#maxCalls = Math.max(1, maxCalls);
  }

  begin(fields: Omit<Call, 'startedAt' | 'endedAt' | 'status' | 'aborted' | 'concurrency'>): Call {
    const concurrency = enter(this.#providers, fields.provider);
    enter(this.#models, fields.model ?? '');
    const call: Call = {
      ...fields,
      startedAt: Date.now(),
      endedAt: null,
      status: null,
      aborted: false,
      concurrency,
    };
    // A tenth at once: dropping one by one would move the whole array on every call.
    if (this.calls.length >= this.#maxCalls) this.calls.splice(0, Math.ceil(this.#maxCalls / 10));
    this.calls.push(call);
    this.onChange();
    return call;
  }

  end(call: Call, aborted = false): void {
    if (call.endedAt !== null) return;
    call.endedAt = Date.now();
    call.aborted = aborted;
    leave(this.#providers, call.provider);
    leave(this.#models, call.model ?? '');
    this.onChange();
  }

  /** Forgets calls and peaks; calls under way stay counted. */
  reset(): void {
    this.calls.length = 0;
    for (const gauges of [this.#providers, this.#models]) {
      for (const [key, gauge] of gauges) {
        if (gauge.current === 0) gauges.delete(key);
        else Object.assign(gauge, { calls: gauge.current, peak: gauge.current });
      }
    }
  }

  stats(): Stats {
    return { providers: snapshot(this.#providers), models: snapshot(this.#models) };
  }
}

function enter(gauges: Map<string, Gauge>, key: string): number {
  let gauge = gauges.get(key);
  if (gauge === undefined) {
    gauge = { calls: 0, current: 0, peak: 0 };
    gauges.set(key, gauge);
  }
  gauge.calls++;
  gauge.current++;
  if (gauge.current > gauge.peak) gauge.peak = gauge.current;
  return gauge.current;
}

function leave(gauges: Map<string, Gauge>, key: string): void {
  const gauge = gauges.get(key);
  if (gauge !== undefined) gauge.current--;
}

function snapshot(gauges: Map<string, Gauge>): Record<string, Gauge> {
  return Object.fromEntries([...gauges].map(([key, gauge]) => [key, { ...gauge }]));
}
