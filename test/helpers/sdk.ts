import OpenAI, { type ClientOptions } from 'openai';
import type { Gateway } from './gateway.js';

/** The official SDK as a caller sets it up: another base address and another key, nothing else. */
export function sdkFor(gateway: Gateway, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, ...options });
}
