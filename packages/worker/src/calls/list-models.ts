/** The provider's model list, page by page. Control plane: a few calls in a process's life, so plain `node-fetch`. */
import fetch from 'node-fetch';
import { UnusableResponse } from '../providers/types.js';
import type { Upstream } from './call-provider.js';

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
    const response = await fetch(url, {
      headers,
      redirect: 'error',
      size: MAX_PAGE_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await response.text();
    if (!response.ok)
      throw new UnusableResponse(`${config.name} answered ${response.status} to its model list`);
    const { models: found, next } = provider.parseModels(parseJson(body));
    models.push(...found);
    if (next === undefined || next === after) break;
    after = next;
  }
  return models;
}

/** The parser's own error would quote the text, and errors are logged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnusableResponse('the model list is not JSON');
  }
}
