/** Sends one message as Standard Webhooks has it, and says how that went. The answer's body is never read. */
import { createHmac } from 'node:crypto';
import { loadNodeFetch } from '../cell/load-node-fetch.js';
import { PRIVATE_ADDRESS, publicAgentFor } from '../cell/public-addresses.js';
import type { Delivery } from './delivery-store.js';
import type { Webhook } from './webhook-store.js';

export interface SendOptions {
  allowPrivate: boolean;
  timeoutMs: number;
}

/** `gone`: the address asks never to be called again. */
export interface SendOutcome {
  as: 'delivered' | 'failed' | 'gone';
  /** The status, or a word for what went wrong. */
  outcome: string;
}

/** The message has ids and a state only, or the figures of a budget. Its receiver asks the gateway for the rest, with a key. */
export function messageOf({ event, type, subject, at, details }: Delivery): string {
  return JSON.stringify({
    id: event,
    object: 'event',
    created_at: Math.floor(at / 1000),
    type,
    data: { id: subject, ...details },
  });
}

/** `timestamp` is in seconds. */
export function sign(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

export function sendMessage(
  webhook: Webhook,
  delivery: Delivery,
  options: SendOptions,
): Promise<SendOutcome> {
  return sendSigned(webhook, { id: delivery.event, body: messageOf(delivery) }, options);
}

export async function sendSigned(
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
  { id, body }: { id: string; body: string },
  { allowPrivate, timeoutMs }: SendOptions,
): Promise<SendOutcome> {
  if (url === '') return { as: 'failed', outcome: 'unreadable' };
  const timestamp = Math.floor(Date.now() / 1000);
  // The answer's body is of no interest, so the connection is also ended when its head has come. AbortSignal.any does not
  // serve here: Node may collect the signals that it was made of.
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), timeoutMs);
  try {
    const { default: fetch } = loadNodeFetch();
    const { status } = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'manual',
      ...(allowPrivate ? {} : { agent: publicAgentFor }),
      signal: ended.signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'sluice',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign(secret, id, timestamp, body),
      },
    });
    if (status >= 200 && status < 300) return { as: 'delivered', outcome: String(status) };
    return { as: status === 410 ? 'gone' : 'failed', outcome: String(status) };
  } catch (error) {
    return { as: 'failed', outcome: wordFor(error) };
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

function wordFor(error: unknown): string {
  if (!(error instanceof Error)) return 'unreachable';
  const code = 'code' in error ? String(error.code) : '';
  if (code === PRIVATE_ADDRESS) return 'private_address';
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timeout';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (/CERT|TLS|SSL|SELF_SIGNED/.test(code)) return 'certificate';
  return 'unreachable';
}
