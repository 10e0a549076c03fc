/** The provider's model list, page by page. A process reads it a few times in its life, so Node's own client is enough. */
import type { IncomingMessage } from 'node:http';
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
export async function listModels({
  config,
  provider,
  endpoint,
  credentials,
}: Upstream): Promise<ListedModel[]> {
  const models: ListedModel[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const url = endpoint.modelsUrl(provider.modelsQuery(after));
    if (url === undefined) break;
    const headers = await credentials.headersFor({ method: 'GET', url, body: '' });
    if (!headers) throw new Error(`no key for provider ${config.name}`);
    const response = await get(url, headers);
    const status = response.statusCode ?? 0;
    const body = await readText(response, MAX_PAGE_BYTES);
    if (status < 200 || status > 299)
      throw new UnusableResponse(`${config.name} answered ${status} to its model list`);
    const { models: found, next } = provider.parseModels(parseJson(body));
    models.push(...found);
    if (next === undefined || next === after) break;
    after = next;
  }
  return models;
}

/** A redirect is not followed, so that the key goes nowhere else. */
function get(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const { request } = url.startsWith('https:') ? https : http;
  const options = { headers, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
  return new Promise((resolve, reject) => request(url, options, resolve).on('error', reject).end());
}

/** The parser's own error would quote the text, and errors are logged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnusableResponse('the model list is not JSON');
  }
}
