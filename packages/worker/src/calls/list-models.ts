/** The provider's model list, page by page. A process reads it a few times in its life, so Node's own client is enough. */
import type { IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import { http } from '@sluice/shared/process/node-http';
import { UnusableResponse } from '../providers/types.js';
import type { Upstream } from './call-provider.js';
import { readText } from './read-text.js';

const TIMEOUT_MS = 15_000;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const MAX_PAGES = 50;

export interface ListedModel {
  id: string;
  /** Unix seconds. */
  created: number;
}

/** Empty where the provider has no list. */
export async function listModels(
  { config, provider, endpoint, credentials }: Upstream,
  timeoutMs = TIMEOUT_MS,
): Promise<ListedModel[]> {
  const models: ListedModel[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const url = endpoint.modelsUrl(provider.modelsQuery(after));
    if (url === undefined) break;
    const headers = await credentials.headersFor({ method: 'GET', url, body: '' });
    if (!headers) throw new Error(`no key for provider ${config.name}`);
    const { status, body } = await read(url, headers, AbortSignal.timeout(timeoutMs));
    if (status < 200 || status > 299)
      throw new UnusableResponse(`${config.name} answered ${status} to its model list`);
    const { models: found, next } = provider.parseModels(parseJson(body));
    models.push(...found);
    if (next === undefined || next === after) break;
    after = next;
  }
  return models;
}

async function read(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  try {
    const response = await get(url, { headers, agent: false, signal });
    return { status: response.statusCode ?? 0, body: await readText(response, MAX_PAGE_BYTES) };
  } finally {
    // An answer without a length seems to be whole when the signal ends it.
    signal.throwIfAborted();
  }
}

/** A redirect is not followed, so that the key goes nowhere else. */
function get(url: string, options: RequestOptions): Promise<IncomingMessage> {
  const { request } = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    request(url, options, resolve)
      .on('error', reject)
      // Node closes the connection without an error when the server changes to another protocol.
      .on('close', () => reject(new UnusableResponse('the connection was closed without an answer')))
      .end();
  });
}

/** The parser's own error would quote the text, and errors are logged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnusableResponse('the model list is not JSON');
  }
}
