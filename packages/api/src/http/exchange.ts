/**
 * One request of a caller and its answer. The exchange names the request, turns every error into a response, and counts and logs
 * the request when its answer was sent or its caller has left.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createLineLogger, type Logger } from '@sluice/shared/process/logger';
import type { Reason } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import { makeRequestId } from '@sluice/shared/request-id';
import { childOf, parseTraceparent, type TraceContext } from '@sluice/shared/tracing/trace-context';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import type { Middleware, Next, ParameterizedContext } from 'koa';
import { type ApiMetrics, CHAT_PATH, EMBEDDINGS_PATH } from '../cell/metrics.js';
import type { RequestTally } from '../cell/request-tally.js';
import type { MeasuredState } from './measured.js';
import { requireAddress } from './refuse-unaddressed.js';
import { throwUnrouted, writeError } from './report-errors.js';
import { toRequestLine, toRequestSpan } from './request-line.js';
import { noteUnread } from './unread-bodies.js';

export interface ExchangeParts {
  metrics: ApiMetrics;
  requestTally: Pick<RequestTally, 'count'>;
  logger: Logger;
  /** The requests that get a line in the log. */
  logRequests: 'all' | 'errors';
  tracer: Tracer | undefined;
  clock: Clock;
  isDraining(): boolean;
  /** Adds the headers that a browser needs. */
  cors: Middleware | undefined;
  countRefusal(state: MeasuredState, reason: Reason): void;
  explainPath(path: string): string;
}

type Context = ParameterizedContext<MeasuredState>;

/** The status that web servers log for a caller who hung up. */
const CANCELLED = { status: 499, code: 'cancelled' };

const TEMPLATES = new Map([['/v1/models/*id', '/v1/models/{id}']]);

const HEALTH_CHECKS = new Set(['/healthz', '/readyz']);

export function createExchange(parts: ExchangeParts): Middleware<MeasuredState> {
  const { metrics, requestTally, logger, logRequests, tracer, clock, isDraining, cors } = parts;
  const logLine = createLineLogger(logger, 'request');

  function begin({ state, req, res }: Context): TraceContext | undefined {
    // A caller's own `x-request-id` is ignored, because it may not be unique.
    state.requestId = makeRequestId();
    res.setHeader('x-request-id', `req_${state.requestId}`);
    state.startedAt = performance.now();
    metrics.began();
    if (!res.socket) closeWith(req.socket, res);
    const { traceparent } = req.headers;
    const caller = typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined;
    // Later spans are children of the gateway's span. Without a tracer they are children of the caller's.
    state.trace = tracer ? childOf(caller) : caller;
    return caller;
  }

  async function answer(ctx: Context, next: Next): Promise<void> {
    try {
      requireAddress(ctx);
      await next();
      if (ctx.response.body === undefined) throwUnrouted(ctx.status, () => parts.explainPath(ctx.path));
    } catch (error) {
      parts.countRefusal(ctx.state, writeError(ctx, error, logger));
    }
    sayGoodbye(ctx);
  }

  /** While the process drains, every answer asks its client to close the connection and connect to another process. */
  function sayGoodbye(ctx: Context): void {
    if (isDraining()) ctx.set('connection', 'close');
  }

  function end(ctx: Context, caller: TraceContext | undefined): void {
    const { state, req, res } = ctx;
    const { method = '' } = req;
    const isAnswered = res.writableFinished;
    if (!req.complete) noteUnread(req);
    const { status, code } = isAnswered ? { status: res.statusCode, code: state.code ?? 'ok' } : CANCELLED;
    const path = pathOf(ctx);
    const ms = performance.now() - state.startedAt;
    metrics.ended(path, method, status, code, ms / 1000);
    if (HEALTH_CHECKS.has(path)) return;
    if (path === CHAT_PATH || path === EMBEDDINGS_PATH) {
      const reason = isAnswered ? state.reason : 'caller_left';
      requestTally.count((state.key ?? state.formerKey)?.workspace, state.route ?? null, reason, ms / 1000);
    }
    tracer?.record(
      toRequestSpan(state, { method, path, status, code, ms }, clock.now()),
      caller,
      state.trace,
    );
    if (logRequests === 'errors' && status < 400) return;
    logLine(toRequestLine(state, { method, path, status, code, ms }));
  }

  return (ctx, next) => {
    const caller = begin(ctx);
    // It comes once. `once` would cost a function and a removal.
    ctx.res.on('close', () => {
      if (ctx.state.isClosed) return;
      ctx.state.isClosed = true;
      ctx.state.whenClosed?.();
      end(ctx, caller);
    });
    // A question of a browser whether it may ask is answered by `cors` alone.
    return cors ? cors(ctx, () => answer(ctx, next)).then(() => sayGoodbye(ctx)) : answer(ctx, next);
  };
}

/**
 * A caller that sends without waiting has several requests on a connection. Node tells only the one that is being answered when
 * the connection closes, so the others are told here.
 */
function closeWith(socket: Socket, response: ServerResponse): void {
  const close = () => {
    response.destroyed = true;
    response.emit('close');
  };
  socket.once('close', close);
  response.once('close', () => socket.off('close', close));
}

/** All paths that callers make up share one label. */
function pathOf(ctx: ParameterizedContext): string {
  const matched: unknown = Reflect.get(ctx, '_matchedRoute');
  return typeof matched === 'string' ? (TEMPLATES.get(matched) ?? matched) : 'other';
}
