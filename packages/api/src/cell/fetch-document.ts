import { GatewayError } from '@sluice/shared/errors';
import { loadNodeFetch } from './load-node-fetch.js';
import { PRIVATE_ADDRESS, publicAgentFor } from './public-addresses.js';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 20 * 1024 * 1024;

export interface FetchOptions {
  /** Whether the address may lead into a private network. */
  allowPrivate: boolean;
  timeoutMs?: number;
}

/** Fetches a JSON document from the operator's address. Throws `refresh_failed`, which never quotes the document. */
export async function fetchDocument(
  url: string,
  { allowPrivate, timeoutMs = TIMEOUT_MS }: FetchOptions,
): Promise<unknown> {
  let text: string;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { default: fetch } = loadNodeFetch();
    const response = await fetch(url, {
      redirect: 'error',
      ...(allowPrivate ? {} : { agent: publicAgentFor }),
      signal,
      size: MAX_BYTES,
      headers: { accept: 'application/json', 'user-agent': 'sluice' },
    });
    text = await response.text();
    if (!response.ok) throw failed(`the address answered ${response.status}`);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    // The error itself may be of the connection that the signal has cut.
    throw failed(signal.aborted ? `no whole answer within ${timeoutMs} ms` : reasonOf(error));
  }
  try {
    return JSON.parse(text);
  } catch {
    throw failed('the address did not answer with JSON');
  }
}

function failed(reason: string): GatewayError {
  return new GatewayError('refresh_failed', `The model registry was not refreshed: ${reason}.`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the address could not be read';
  if ('code' in error && error.code === PRIVATE_ADDRESS)
    return 'the address is private, and only public ones are fetched unless registry.allow_private_addresses is true';
  if ('type' in error && error.type === 'max-size') return `the answer is larger than ${MAX_BYTES} bytes`;
  if ('type' in error && error.type === 'no-redirect')
    return 'the address redirects; name its target instead';
  const code = 'code' in error ? ` (${error.code})` : '';
  return `the address could not be read${code}`;
}
