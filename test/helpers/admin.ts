import { checkAnswer } from './conformance.js';
import type { Gateway } from './gateway.js';

export interface AdminAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they check
  body: any;
}

export type CallAdmin = (
  method: string,
  path: string,
  body?: unknown,
  init?: { token?: string | null; headers?: Record<string, string> },
) => Promise<AdminAnswer>;

/** Calls to the gateway's admin api. Every answer is held to the OpenAPI document. */
export function adminOf(gateway: Gateway): CallAdmin {
  return async (method, path, body, { token = gateway.adminToken, headers = {} } = {}) => {
    const response = await fetch(gateway.adminUrl + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = { status: response.status, headers: response.headers, body: await response.json() };
    checkAnswer(method, path, answer);
    return answer;
  };
}

/** Erases a deleted workspace, as if its last requests had ended long ago. A new one may have its id. */
export async function freeId(gateway: Gateway, id: string): Promise<void> {
  await adminOf(gateway)('DELETE', `/workspaces/${id}?erase=true`);
  const { redis, names } = gateway;
  const record = JSON.parse((await redis.hget(names.deletedWorkspaces, id)) ?? '');
  await redis.hset(names.deletedWorkspaces, id, JSON.stringify({ ...record, requestsEnd: 0 }));
}
