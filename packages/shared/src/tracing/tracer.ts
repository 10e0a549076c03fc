/**
 * Sends spans to an OpenTelemetry collector: OTLP over HTTP, in JSON. Spans are gathered and sent every second. A
 * collector that is away or slow costs the spans and nothing else: the buffer is bounded, and nobody waits for it.
 *
 * Written by hand: there are three kinds of spans with fixed attributes, for which the SDK would bring a dozen packages.
 */
import { childOf, type TraceContext } from './trace-context.js';

const SEND_EVERY_MS = 1_000;
const MAX_BUFFERED = 2_048;
const TIMEOUT_MS = 5_000;

const KINDS = { server: 2, client: 3, consumer: 5 } as const;
export type Attributes = Record<string, string | number | boolean | undefined>;

export interface Span {
  name: string;
  kind: keyof typeof KINDS;
  /** Milliseconds since the epoch. */
  start: number;
  end: number;
  attributes: Attributes;
  /** Why it failed, in a word. */
  error?: string | undefined;
}

export class Tracer {
  #spans: object[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #url: string;

  constructor(
    endpoint: string,
    private readonly role: string,
  ) {
    this.#url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
    this.#timer = setInterval(() => void this.#send(), SEND_EVERY_MS).unref();
  }

  /** `own` is the span's own context, if others already know it as their parent. */
  record(span: Span, parent: TraceContext | undefined, own: TraceContext = childOf(parent)): void {
    if (!own.sampled || this.#spans.length >= MAX_BUFFERED) return;
    this.#spans.push({
      traceId: own.traceId,
      spanId: own.spanId,
      ...(parent ? { parentSpanId: parent.spanId } : {}),
      name: span.name,
      kind: KINDS[span.kind],
      startTimeUnixNano: toNanos(span.start),
      endTimeUnixNano: toNanos(span.end),
      attributes: toAttributes({ ...span.attributes, 'error.type': span.error }),
      status: span.error === undefined ? {} : { code: 2 },
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#send();
  }

  async #send(): Promise<void> {
    const spans = this.#spans;
    if (spans.length === 0) return;
    this.#spans = [];
    const resource = { attributes: toAttributes({ 'service.name': `sluice-${this.role}` }) };
    const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'sluice' }, spans }] }] };
    const request = fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await request.then((response) => response.body?.cancel()).catch(() => {});
  }
}

/** As a text: nanoseconds do not fit into a double. */
function toNanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function toAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]): object[] => {
    if (value === undefined) return [];
    if (typeof value === 'string') return [{ key, value: { stringValue: value } }];
    if (typeof value === 'boolean') return [{ key, value: { boolValue: value } }];
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}
