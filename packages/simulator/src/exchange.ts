import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BackgroundResponses } from './background-responses.js';
import type { Call, CallLog } from './call-log.js';
import { send, sendBadly } from './delivery.js';
import { type Dialect, type Fields, isFields, type ProviderName, Refusal } from './dialect.js';
import type { Action, Script } from './faults.js';
import type { PromptCaches } from './prompt-caches.js';
import type { RateLimiter } from './rate-limiter.js';
import { wordAnswer } from './wording.js';

/** Milliseconds, or a promise: the answer then waits for whoever holds it. */
export type Latency = number | Promise<unknown>;

/** The parts that all exchanges of one simulator share. */
export interface Setting {
  acceptKeys: readonly string[] | undefined;
  knowsModel(provider: ProviderName): (id: string) => boolean;
  models: Partial<Record<ProviderName, readonly string[]>>;
  latency: ((call: Call) => Latency) | undefined;
  /** Limits per minute that it keeps strictly. */
  limiters: Partial<Record<ProviderName, RateLimiter>>;
  echo: boolean;
  keepBodies: boolean;
  script: Script;
  chatLog: CallLog;
  otherLog: CallLog;
  nextCall(): number;
  background: BackgroundResponses;
  /** Without them nothing is cached. */
  caches: PromptCaches | undefined;
}

interface Exchange {
  dialect: Dialect;
  req: IncomingMessage;
  res: ServerResponse;
  chat: boolean;
  path: string;
  model: string | null;
  textHash: string;
  userText: string;
  body: unknown;
  /** Beside the usual ones. */
  headers?(): Record<string, string>;
  /** The answer comes at once: it tells of a response that runs on, or refuses the call. */
  isAtOnce?: boolean;
  /** Makes the normal answer; throws Refusal. */
  respond(call: Call, action: Action): Fields | string;
}

/** One chat call, whose body has arrived (`null`: it was larger than allowed). */
export function serveChat(
  setting: Setting,
  dialect: Dialect,
  req: IncomingMessage,
  res: ServerResponse,
  raw: Buffer | null,
): void {
  const body = raw === null ? undefined : parseJson(raw);
  const limiter = setting.limiters[dialect.name];
  const admitted = limiter && admit(limiter, dialect, req, res, body);
  const cached = setting.caches?.arrive(dialect, req.headers, body);
  const model = isFields(body) && typeof body.model === 'string' ? body.model : null;
  const userText = dialect.lastUserText(body);
  const isBackground = isFields(body) && body.background === true;
  const textHash = setting.echo ? hash('sha256', userText).slice(0, 16) : '';
  serve(setting, {
    dialect,
    req,
    res,
    chat: true,
    path: dialect.chatPath,
    model,
    textHash,
    userText,
    body,
    isAtOnce: isBackground || admitted instanceof Refusal,
    headers: () => limiter?.headers(dialect, req.headers) ?? {},
    respond(call, overrides: Action) {
      const { n } = call;
      dialect.checkAuth(req.headers, setting.acceptKeys);
      dialect.checkContentType(req.headers);
      if (raw === null) throw dialect.tooLarge();
      if (!isFields(body)) throw dialect.badJson();
      dialect.checkBody(body, setting.knowsModel(dialect.name));
      if (admitted instanceof Refusal) throw admitted;
      if (overrides.noFlexCapacity === true && body.service_tier === 'flex') throw noFlexCapacity();
      const answer = dialect.answer(body, { n, textHash, userText, echo: setting.echo, overrides });
      cached?.(answer);
      admitted?.(answer);
      if (!isBackground) return answer;
      if (overrides.refuseBackground === true && body.store === false) throw storeNeeded();
      return setting.background.begin(answer, req.headers, setting.latency?.(call) ?? 0);
    },
  });
}

/** It is not charged. */
function noFlexCapacity(): Refusal {
  const message = 'Resource Unavailable: flex processing has no capacity for this request at the moment.';
  return new Refusal(429, message, 'resource_unavailable', null, 'resource_unavailable');
}

function storeNeeded(): Refusal {
  const message = "Background responses require 'store' to be true.";
  return new Refusal(400, message, 'invalid_request_error', 'background', 'unsupported_parameter');
}

/** Counted when the call arrives, whenever it is answered. */
function admit(
  limiter: RateLimiter,
  dialect: Dialect,
  req: IncomingMessage,
  res: ServerResponse,
  body: unknown,
) {
  try {
    res.once('close', limiter.enter(dialect));
    return limiter.admit(dialect, req.headers, body);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

const NO_CHAT = { chat: false, model: null, textHash: '', userText: '', body: undefined } as const;

/** Everything that is no chat call: model lists, wrong methods, unknown paths. */
export function serveOther(
  setting: Setting,
  dialect: Dialect,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const { method = 'GET', url = '/' } = req;
  const [path = '/', query] = url.split('?', 2);
  serve(setting, {
    dialect,
    req,
    res,
    path,
    ...NO_CHAT,
    respond() {
      const isList = path === '/v1/models';
      const id = path.startsWith('/v1/models/') ? path.slice('/v1/models/'.length) : undefined;
      if (path !== dialect.chatPath && !isList && id === undefined) throw dialect.notFound(method, path);
      if (path === dialect.chatPath || method !== 'GET') throw dialect.wrongMethod(method, path);
      dialect.checkAuth(req.headers, setting.acceptKeys);
      const ids = setting.models[dialect.name] ?? [];
      if (isList) return dialect.modelList(ids, new URLSearchParams(query));
      const known = ids.filter((known) => encodeURIComponent(known) === id);
      const [model] = dialect.modelList(known, new URLSearchParams()).data;
      if (model === undefined) throw dialect.notFound(method, path);
      return model;
    },
  });
}

/** A call of a batch API. `answer` returns undefined for a path that it does not have. */
export function serveBatches(
  setting: Setting,
  dialect: Dialect,
  req: IncomingMessage,
  res: ServerResponse,
  answer: () => Fields | string | undefined,
): void {
  const { method = 'GET', url = '/' } = req;
  const path = url.split('?', 1)[0] ?? url;
  serve(setting, {
    dialect,
    req,
    res,
    path,
    ...NO_CHAT,
    respond() {
      dialect.checkAuth(req.headers, setting.acceptKeys);
      const answered = answer();
      if (answered === undefined) throw dialect.notFound(method, path);
      return answered;
    },
  });
}

export function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString());
  } catch {
    return undefined;
  }
}

function serve(setting: Setting, exchange: Exchange): void {
  const { dialect, req, res, chat, path, model, textHash, userText: text, body } = exchange;
  const log = chat ? setting.chatLog : setting.otherLog;
  const n = setting.nextCall();
  const call = log.begin({ n, provider: dialect.name, path, model, requestId: `req_sim${n}`, textHash });
  if (setting.keepBodies) {
    call.headers = req.headers;
    call.body = body;
  }
  const action = setting.script.take({ provider: dialect.name, model, text, path, method: req.method, chat });
  const progress = {
    started(status: number) {
      call.status = status;
    },
    ending: () => log.end(call),
  };
  const finish = () => {
    const answer = wordAnswer(dialect, call.requestId, action, body, () =>
      exchange.respond(call, action ?? {}),
    );
    Object.assign(answer.headers, exchange.headers?.());
    if (action === undefined) send(res, answer, progress);
    else sendBadly(res, answer, action, progress);
  };

  if (action?.late !== undefined) {
    res.once('close', () => log.end(call, true));
    void action.late.then(() => exchange.respond(call, action));
    return;
  }
  const latency = (chat && !exchange.isAtOnce && setting.latency?.(call)) || 0;
  const held = typeof latency === 'number' ? undefined : latency;
  const delay = (typeof latency === 'number' ? latency : 0) + (action?.delayMs ?? 0);
  // The plain answer leaves in this very tick: nothing can be aborted, so nothing has to be watched.
  if (action === undefined && held === undefined && delay <= 0) {
    finish();
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  res.once('close', () => {
    clearTimeout(timer);
    log.end(call, true);
  });
  const finishLater = () => {
    if (res.closed) return;
    if (delay > 0) timer = setTimeout(finish, delay);
    else finish();
  };
  if (held === undefined) finishLater();
  else held.then(finishLater);
}
