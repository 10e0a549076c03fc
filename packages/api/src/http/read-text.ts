import { GatewayError } from '@sluice/shared/errors';
import type { Context, Middleware, ParameterizedContext } from 'koa';
import bodyParser from 'koa-bodyparser';
import { letSend } from './expect-continue.js';

/** Nearly every client sends this content type. */
const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i;

/** The body is always read as UTF-8. JSON needs no charset, so a missing one is right too. */
const UTF_8 = /^(?:utf-?8|us-ascii)?$/i;

export interface Received {
  bodyText: string;
}

/** Leaves out a byte order mark at the start. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the text of a JSON body. koa-bodyparser reads it as bytes and parses nothing: the bytes are decoded strictly, and numbers
 * stay as they were written. Its errors are never passed on.
 */
export class TextReader {
  readonly #readBytes: Middleware;

  constructor(private readonly maxBytes: number) {
    this.#readBytes = bodyParser({
      enableTypes: ['text'],
      extendTypes: { text: ['application/json'] },
      textLimit: maxBytes as unknown as string, // Its types know sizes such as `1mb` only.
      encoding: null as unknown as string, // No encoding: the body stays bytes.
      onerror: (error, ctx) => {
        // The rest is read and dropped. If the connection were closed instead, a caller that is still sending would see a
        // broken connection, and not the answer.
        ctx.req.resume();
        if (error instanceof GatewayError) throw error;
        if ('status' in error && error.status === 413) throw tooLarge(maxBytes);
        throw new GatewayError('invalid_request', 'The body could not be read.');
      },
    });
  }

  async read(ctx: ParameterizedContext): Promise<string> {
    const { headers } = ctx.req;
    const encoding = headers['content-encoding'] ?? '';
    if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
      throw new GatewayError('unsupported_media_type', 'The body must not be compressed.');
    }
    if (!PLAIN_JSON.test(headers['content-type'] ?? '')) checkContentType(ctx);
    if (Number(headers['content-length'] ?? 0) > this.maxBytes) throw tooLarge(this.maxBytes);
    letSend(ctx.res);
    // The parser gets an object of its own: it need not find out the type again, and the bytes go with the object. A caller
    // may wait for minutes, and they would wait with it.
    const request: Parsed = { is: IS_JSON, body: undefined, rawBody: '' };
    await this.#readBytes({ req: ctx.req, request } as unknown as Context, NOTHING_MORE);
    return Buffer.isBuffer(request.body) ? decode(request.body) : '';
  }
}

/** What koa-bodyparser needs of a request. */
interface Parsed {
  is(): string;
  body: unknown;
  rawBody: string;
}

const IS_JSON = () => 'application/json';
const NOTHING_MORE = () => Promise.resolve();

/** A middleware that reads the text before the next one runs. */
export function createReadText(maxBytes: number): Middleware<Received> {
  const reader = new TextReader(maxBytes);
  return async (ctx, next) => {
    ctx.state.bodyText = await reader.read(ctx);
    return next();
  };
}

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  }
}

function checkContentType(ctx: ParameterizedContext): void {
  if (!ctx.is('application/json'))
    throw new GatewayError('unsupported_media_type', 'Send the body as content-type: application/json.');
  if (!UTF_8.test(ctx.request.charset))
    throw new GatewayError('unsupported_media_type', 'The body must be encoded in UTF-8.');
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.`);
}
