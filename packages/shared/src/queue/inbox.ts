/**
 * The messages in the inbox of an api process. An entry of the stream has the request's id and the fields of one kind of
 * message. Scripts send the first five kinds (the functions `send…` of lua/parts), and this file the others. It reads all.
 */
import type { Redis } from 'ioredis';
import type { ProviderVerdict } from '../admin-api.js';
import type { ShardNames } from '../redis/key-names.js';
import type { ReplyHead } from './job.js';
import type { NextEntry } from './settle.js';

/** An inbox that nobody has touched for this long belongs to a process that is gone. */
export const INBOX_TTL_MS = 600_000;

export interface ListedModel {
  id: string;
  created: number;
}

/**
 * `reply`: how the request ended. `outcome`: the same for the others under its Idempotency-Key, without the answer, which
 * they read themselves. `moved`: the request waits for another entry now. `displaced`: its job has left the full queue of
 * that entry, to make room. `models`: the models that a provider offers, null when the list could not be read. `tested`:
 * the result of a call that an operator asked for. `room`: a request that waited for its workspace's limits goes on.
 */
export type InboxMessage = { requestId: string } & (
  | { kind: 'reply'; head: ReplyHead; body: string }
  | { kind: 'outcome'; head: ReplyHead; waiters: string[] }
  | { kind: 'moved'; next: NextEntry }
  | { kind: 'displaced'; entry: number }
  | { kind: 'room' }
  | { kind: 'models'; models: ListedModel[] | null }
  | { kind: 'tested'; verdict: ProviderVerdict }
);

interface Asker {
  inbox: string;
  requestId: string;
}

export function sendModels(
  redis: Redis,
  names: ShardNames,
  to: Asker,
  models: ListedModel[] | null,
): Promise<void> {
  return sendAnswer(redis, names, to, 'models', models);
}

export function sendVerdict(
  redis: Redis,
  names: ShardNames,
  to: Asker,
  verdict: ProviderVerdict,
): Promise<void> {
  return sendAnswer(redis, names, to, 'tested', verdict);
}

async function sendAnswer(
  redis: Redis,
  names: ShardNames,
  to: Asker,
  kind: string,
  answer: unknown,
): Promise<void> {
  const key = names.inbox(to.inbox);
  await redis.xadd(key, '*', 'id', to.requestId, kind, JSON.stringify(answer));
  await redis.pexpire(key, INBOX_TTL_MS);
}

/** `fields`: names and values in turn, as Redis returns them. Undefined for a kind that only a newer version knows. */
export function readInboxMessage(fields: readonly string[]): InboxMessage | undefined {
  const [idName, id = '', headName, reply = '', bodyName, answer = ''] = fields;
  // Nearly every message is a reply, and `sendReply` writes it in this order.
  if (idName === 'id' && headName === 'head' && bodyName === 'body')
    return { kind: 'reply', requestId: id, head: JSON.parse(reply) as ReplyHead, body: answer };
  const values = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) values.set(fields[i] ?? '', fields[i + 1] ?? '');
  const requestId = values.get('id') ?? '';
  const [head, moved, models] = [values.get('head'), values.get('moved'), values.get('models')];
  const displaced = values.get('displaced');
  if (head !== undefined) {
    const body = values.get('body') ?? '';
    return { kind: 'reply', requestId, head: JSON.parse(head) as ReplyHead, body };
  }
  const outcome = values.get('outcome');
  if (outcome !== undefined) {
    const waiters = (values.get('waiters') ?? '').split(' ');
    return { kind: 'outcome', requestId, head: JSON.parse(outcome) as ReplyHead, waiters };
  }
  if (moved !== undefined) return { kind: 'moved', requestId, next: JSON.parse(moved) as NextEntry };
  if (displaced !== undefined) return { kind: 'displaced', requestId, entry: Number(displaced) };
  if (values.has('room')) return { kind: 'room', requestId };
  const tested = values.get('tested');
  if (tested !== undefined)
    return { kind: 'tested', requestId, verdict: JSON.parse(tested) as ProviderVerdict };
  if (models !== undefined)
    return { kind: 'models', requestId, models: JSON.parse(models) as ListedModel[] | null };
  return undefined;
}
