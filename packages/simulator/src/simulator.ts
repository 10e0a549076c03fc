import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic } from './anthropic.js';
import { AnthropicBatches } from './anthropic-batches.js';
import { BackgroundResponses } from './background-responses.js';
import { Batches, type HoldLine, type SimulatedBatch } from './batches.js';
import { type Call, CallLog, type Stats } from './call-log.js';
import { answerControl, CONTROL_PREFIX } from './control.js';
import type { Dialect, ProviderName, ServerName } from './dialect.js';
import { openaiEmbeddings, serverEmbeddings } from './embeddings.js';
import { type Latency, parseJson, type Setting, serveBatches, serveChat, serveOther } from './exchange.js';
import { type Rule, Script } from './faults.js';
import { MODELS, modelTest } from './models.js';
import { openai, serverDialect } from './openai.js';
import { type FormFields, OpenaiBatches } from './openai-batches.js';
import { SERVERS } from './openai-servers.js';
import { type CacheOptions, PromptCaches } from './prompt-caches.js';
import { RateLimiter, type StrictLimits } from './rate-limiter.js';
import { openaiResponses, serverResponses } from './responses.js';

export interface SimulatorOptions {
  /** 0, the default, takes a free port. */
  port?: number;
  host?: string;
  /** Keys that are let in; without it, any key that is not empty. */
  acceptKeys?: readonly string[];
  /** The only ids that a provider knows and lists; without it, any id with the provider's prefix. */
  models?: Partial<Record<ProviderName, readonly string[]>>;
  /** A function may also return a promise: the answer waits for it. */
  latencyMs?: number | ((call: Call) => Latency);
  /** Holds lines of batches by their text. */
  holdBatchLine?: HoldLine;
  /** False: the answer is always `ok` and nothing is hashed, for benchmarks. */
  echo?: boolean;
  /** False: neither bodies nor headers are kept in the call log. */
  keepBodies?: boolean;
  maxCalls?: number;
  /** Told when a call begins and when it ends. */
  onCall?: () => void;
  /** Limits per minute and key that are kept strictly; without it there are none. */
  limits?: Partial<Record<ProviderName, StrictLimits>>;
  /** The caches of prompts; without it nothing is cached. */
  caches?: CacheOptions;
  /** Whether `/_control/` is served. */
  control?: boolean;
}

export interface Simulator {
  url: string;
  port: number;
  openaiBaseUrl: string;
  anthropicBaseUrl: string;
  /** Where it is another server, such as Mistral's, which takes OpenAI's format. */
  baseUrlOf(server: ServerName): string;
  /** Chat calls, oldest first. */
  calls: readonly Call[];
  /** Keeps the limits per minute, if there are any. */
  limiters: Partial<Record<ProviderName, RateLimiter>>;
  /** Batches that were created, oldest first. */
  batches: readonly SimulatedBatch[];
  /** Model lists, wrong methods and unknown paths. */
  otherCalls: readonly Call[];
  /** Responses that run in the background, or are kept until they are deleted. */
  background: BackgroundResponses;
  /** Adds rules behind those already there. */
  script(...rules: Rule[]): void;
  clearScript(): void;
  stats(): Stats;
  /** Clears script, call logs and peaks. */
  reset(): void;
  close(): Promise<void>;
}

/** By their paths. */
const CHATS = new Map<string, Dialect>(
  [
    ...[openai, openaiResponses, anthropic, serverResponses('openrouter')],
    ...[openaiEmbeddings, serverEmbeddings('mistral'), serverEmbeddings('gemini')],
    ...(Object.keys(SERVERS) as ServerName[]).map(serverDialect),
  ].map((dialect) => [dialect.chatPath, dialect]),
);

/** Anthropic's limit. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const setting = createSetting(options);
  const { script, chatLog, otherLog } = setting;
  const batches = new Batches(() => setting, options.holdBatchLine);
  const openaiBatches = new OpenaiBatches(batches);
  const anthropicBatches = new AnthropicBatches(batches);
  const reset = () => {
    script.clear();
    chatLog.reset();
    otherLog.reset();
  };
  const control = options.control === false ? undefined : { script, chatLog, otherLog, reset };

  const server = createServer((req, res) => {
    const { url = '/', method } = req;
    const dialect = method === 'POST' ? CHATS.get(url) : undefined;
    if (dialect !== undefined) {
      readBody(req, (raw) => serveChat(setting, dialect, req, res, raw));
    } else if (url.startsWith(`${openaiResponses.chatPath}/`)) {
      readBody(req, () =>
        serveBatches(setting, openaiResponses, req, res, () =>
          setting.background.respond(String(method), url, req.headers),
        ),
      );
    } else if (/^\/v1\/messages\/batches(?:[/?]|$)/.test(url)) {
      readBody(req, (raw) =>
        serveBatches(setting, anthropic, req, res, () =>
          anthropicBatches.respond(String(method), toUrl(url), req.headers, raw && parseJson(raw)),
        ),
      );
    } else if (/^\/v1\/(?:files|batches)(?:[/?]|$)/.test(url)) {
      readBody(req, (raw) => {
        void readForm(req, raw).then((form) =>
          serveBatches(setting, openai, req, res, () =>
            openaiBatches.respond(String(method), toUrl(url), req.headers, raw && parseJson(raw), form),
          ),
        );
      });
    } else if (control !== undefined && url.startsWith(CONTROL_PREFIX)) {
      readBody(req, (raw) => {
        const [status, body] = answerControl(control, String(method), url, String(raw));
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    } else {
      readBody(req, () => serveOther(setting, dialectOf(req), req, res));
    }
  });
  // Longer than any client keeps an idle socket: a close here must be a scripted one.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${options.host ?? '127.0.0.1'}:${port}`;

  return {
    url,
    port,
    openaiBaseUrl: `${url}/v1`,
    anthropicBaseUrl: url,
    baseUrlOf: (server) => `${url}/${server}/v1`,
    limiters: setting.limiters,
    batches: batches.all,
    calls: chatLog.calls,
    otherCalls: otherLog.calls,
    background: setting.background,
    script: (...rules) => script.add(rules),
    clearScript: () => script.clear(),
    stats: () => chatLog.stats(),
    reset,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createSetting(options: SimulatorOptions): Setting {
  const { latencyMs, models = {}, maxCalls = 100_000, onCall } = options;
  let n = 0;
  return {
    acceptKeys: options.acceptKeys,
    knowsModel: (provider) => modelTest(provider, models[provider]),
    models: { ...MODELS, ...models },
    latency: typeof latencyMs === 'number' ? () => latencyMs : latencyMs,
    limiters: Object.fromEntries(
      Object.entries(options.limits ?? {}).map(([name, limits]) => [name, new RateLimiter(limits)]),
    ),
    echo: options.echo ?? true,
    keepBodies: options.keepBodies ?? true,
    script: new Script(),
    chatLog: new CallLog(maxCalls, onCall),
    otherLog: new CallLog(maxCalls, onCall),
    nextCall: () => ++n,
    background: new BackgroundResponses(),
    caches: options.caches && new PromptCaches(options.caches),
  };
}

function toUrl(url: string): URL {
  return new URL(url, 'http://simulator');
}

/** The fields of an upload. Undefined: the body is none. */
async function readForm(req: IncomingMessage, raw: Buffer | null): Promise<FormFields | undefined> {
  const type = req.headers['content-type'] ?? '';
  if (raw === null || !type.startsWith('multipart/form-data')) return undefined;
  try {
    const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData();
    const file = form.get('file');
    const fields: FormFields = { purpose: String(form.get('purpose') ?? '') };
    if (file instanceof File) Object.assign(fields, { file: await file.text(), filename: file.name });
    return fields;
  } catch {
    return undefined;
  }
}

/** Both providers list models under one path. */
function dialectOf(req: IncomingMessage) {
  const isAnthropic = 'anthropic-version' in req.headers || 'x-api-key' in req.headers;
  return isAnthropic || req.url === anthropic.chatPath ? anthropic : openai;
}

/** A body over the limit is read to its end but not kept, and reported as null. */
function readBody(req: IncomingMessage, done: (raw: Buffer | null) => void): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks = [];
  });
  req.on('end', () => {
    const [first] = chunks;
    if (bytes > MAX_BODY_BYTES) done(null);
    else done(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
  });
}
