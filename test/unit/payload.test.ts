import { randomBytes } from 'node:crypto';
import { readEnv } from '@sluice/shared/process/env';
import { payloadEnv } from '@sluice/shared/process/shared-env';
import {
  answerContext,
  openError,
  Payloads,
  requestContext,
  sealError,
  UnreadablePayload,
} from '@sluice/shared/queue/payload';
import test from 'ava';

const OLD = randomBytes(32);
const NEW = randomBytes(32);
const TEXT = '{"content":"Grüße 👋, \\u0001 and a very recognisable sentence"}';
const CONTEXT = requestContext({ workspace: 'demo', requestId: 'one' });

test('what is sealed shows nothing of the text and opens to exactly the same', (t) => {
  const payloads = new Payloads([NEW]);
  for (const text of ['', TEXT, 'x'.repeat(200_000)]) {
    const sealed = payloads.seal(text, CONTEXT);
    t.false(text !== '' && sealed.includes(text.slice(0, 20)));
    t.is(payloads.open(sealed, CONTEXT), text);
  }
});

test('the same text is never sealed the same way twice', (t) => {
  const payloads = new Payloads([NEW]);
  const sealed = Array.from({ length: 1_000 }, () => payloads.seal(TEXT, CONTEXT));
  t.is(new Set(sealed).size, sealed.length);
  t.not(new Payloads([NEW]).seal(TEXT, CONTEXT), sealed[0]);
});

test('without a key a text stays as it is, and a process with a key reads it', (t) => {
  t.is(new Payloads([]).seal(TEXT, CONTEXT), TEXT);
  t.is(new Payloads([NEW]).open(TEXT, CONTEXT), TEXT);
});

test('the first key encrypts, and all of them decrypt', (t) => {
  const before = new Payloads([OLD]);
  const during = new Payloads([NEW, OLD]);
  const after = new Payloads([NEW]);
  t.is(during.open(before.seal(TEXT, CONTEXT), CONTEXT), TEXT);
  t.is(after.open(during.seal(TEXT, CONTEXT), CONTEXT), TEXT);
  t.is(during.keyIds[0], after.keyIds[0]);
});

test('a key that is not held is named by its id, and no key is shown', (t) => {
  const other = new Payloads([OLD]);
  for (const reader of [new Payloads([NEW]), new Payloads([])]) {
    const error = t.throws(() => reader.open(other.seal(TEXT, CONTEXT), CONTEXT), {
      instanceOf: UnreadablePayload,
    });
    t.true(error?.message.includes(other.keyIds[0] ?? 'none'));
    t.false(error?.message.includes(OLD.toString('hex')));
  }
});

test('a sealed text cannot be opened as that of another request, workspace or purpose', (t) => {
  const payloads = new Payloads([NEW]);
  const one = { workspace: 'demo', requestId: 'one' };
  const sealed = payloads.seal(TEXT, requestContext(one));
  const others = [
    requestContext({ workspace: 'demo', requestId: 'two' }),
    requestContext({ workspace: 'other', requestId: 'one' }),
    answerContext(one),
    answerContext({ ...one, idempotency: 'one' }),
  ];
  for (const context of others)
    t.throws(() => payloads.open(sealed, context), { instanceOf: UnreadablePayload });
});

test('a sealed text that was cut or changed is refused, wherever that was', (t) => {
  const payloads = new Payloads([NEW]);
  const sealed = payloads.seal('short', CONTEXT);
  for (let i = 1; i < sealed.length; i++) {
    t.throws(() => payloads.open(sealed.slice(0, i), CONTEXT), { instanceOf: UnreadablePayload });
    const other = sealed[i] === 'A' ? 'B' : 'A';
    const changed = sealed.slice(0, i) + other + sealed.slice(i + 1);
    // The last digits of base64 may hold bits that say nothing.
    const same = Buffer.from(changed.slice(9), 'base64').equals(Buffer.from(sealed.slice(9), 'base64'));
    if (i < 9 || !same)
      t.throws(() => payloads.open(changed, CONTEXT), { instanceOf: UnreadablePayload }, changed);
  }
});

test('an answer to an Idempotency-Key opens for every request with that key', (t) => {
  const payloads = new Payloads([NEW]);
  const leader = { workspace: 'demo', requestId: 'one', idempotency: 'digest' };
  const sealed = payloads.seal(TEXT, answerContext(leader));
  t.is(payloads.open(sealed, answerContext({ ...leader, requestId: 'two' })), TEXT);
  t.throws(() => payloads.open(sealed, answerContext({ ...leader, idempotency: 'another' })));
});

test('an error is sealed with its code and times in clear', (t) => {
  const payloads = new Payloads([NEW]);
  const error = { code: 'invalid_request', message: TEXT, param: TEXT, retryAfterMs: 5 } as const;
  const sealed = sealError(payloads, error, CONTEXT);
  t.false(JSON.stringify(sealed).includes('recognisable'));
  t.like(sealed, { code: 'invalid_request', retryAfterMs: 5 });
  t.deepEqual(openError(payloads, sealed, CONTEXT), error);
});

test('fingerprints of a text are keyed, and recognised across a change of keys', (t) => {
  const [plain] = new Payloads([]).fingerprints(TEXT);
  const before = new Payloads([OLD]).fingerprints(TEXT);
  const during = new Payloads([NEW, OLD]).fingerprints(TEXT);
  t.not(before[0], plain);
  t.not(before[0], during[0]);
  t.true(during.includes(before[0]));
  t.true(before.includes(plain));
  t.false(during.some((each) => new Payloads([NEW, OLD]).fingerprints(`${TEXT} `).includes(each)));
});

test('PAYLOAD_KEY takes keys of 32 bytes in base64 or hex, and nothing else', (t) => {
  const read = (text: string) => readEnv({ PAYLOAD_KEY: text }, payloadEnv).PAYLOAD_KEY;
  const [hex, base64, url] = [OLD.toString('hex'), OLD.toString('base64'), OLD.toString('base64url')];
  t.deepEqual(read(hex), [OLD]);
  t.deepEqual(read(base64), [OLD]);
  t.deepEqual(read(url), [OLD]);
  t.deepEqual(read(`${NEW.toString('base64')}, ${base64}`), [NEW, OLD]);
  t.deepEqual(read(`${NEW.toString('hex')}\n${base64}\n`), [NEW, OLD]);
  for (const wrong of ['short', hex.slice(1), `${base64}x`, `${base64},short`, `${'='.repeat(44)}`])
    t.throws(() => read(wrong), { message: /PAYLOAD_KEY: must be one or more keys of 32 bytes/ }, wrong);
});
