import { ERROR_STATUS } from '@sluice/shared/errors';
import type { ExecutionContext } from 'ava';

export interface Answer {
  status: number;
  headers: { get(name: string): string | null | undefined };
  text: string;
}

export interface ErrorFields {
  message: string;
  type: keyof typeof ERROR_STATUS;
  code: keyof typeof ERROR_STATUS;
  param: string | null;
  provider_code?: string;
}

/** Fails unless the answer is an error in the contract's shape, with the status of its code. */
export function assertRefusal(t: ExecutionContext, answer: Answer, about: string): ErrorFields {
  t.regex(answer.headers.get('content-type') ?? '', /^application\/json\b/, about);
  t.regex(answer.headers.get('x-request-id') ?? '', /^req_[\w-]{20}$/, about);
  const body = JSON.parse(answer.text) as { error: ErrorFields };
  t.deepEqual(Object.keys(body), ['error'], about);
  const { provider_code: providerCode, ...fields } = body.error;
  t.deepEqual(Object.keys(fields).sort(), ['code', 'message', 'param', 'type'], about);
  if (providerCode !== undefined) t.regex(providerCode, /^[\w.-]{1,64}$/, about);
  const { message, type, code, param } = fields;
  t.true(typeof message === 'string' && message !== '' && message.length < 1000, `${about}: ${message}`);
  t.is(type, code, about);
  t.is(answer.status, ERROR_STATUS[code], `${about}: ${answer.text}`);
  t.true(param === null || typeof param === 'string', about);
  t.notRegex(answer.text, /\bat .+:\d+:\d+|node_modules|\.js:/, `${about}: a stack`);
  return body.error;
}
