/**
 * Sends spans to an OpenTelemetry collector: OTLP over HTTP, in JSON. Spans are gathered and sent every second, or when
 * there are enough for a batch. When the collector is away or slow, only spans are lost: the buffer and the
 * batches under way are bounded, and nobody waits for them.
 *
 * The SDK would bring a dozen packages, and there are only three kinds of spans, so this is written by hand.
 */
import { childOf, type TraceContext } from './trace-context.js';

const SEND_EVERY_MS = 1_000;
const BATCH = 512;
const MAX_BUFFERED = 2_048;
const MAX_SENDING = 4;
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
  readonly #sending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #url: string;

  constructor(
    endpoint: string,
    private readonly role: string,
  ) {
    this.#url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
    this.#timer = setInterval(() => this.#send(), SEND_EVERY_MS).unref();
  }

  /** `own` is the span's context, if other spans already have it as their parent. */
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
    if (this.#spans.length >= BATCH) this.#send();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#sending, ...(this.#spans.length > 0 ? [this.#post(this.#spans)] : [])]);
  }

  /** While too many batches are under way, spans stay in the buffer. */
  #send(): void {
    const spans = this.#spans;
    if (spans.length === 0 || this.#sending.size >= MAX_SENDING) return;
    this.#spans = [];
    const sending = this.#post(spans).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async #post(spans: object[]): Promise<void> {
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

/** Returns text, because nanoseconds do not fit into a double. */
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
