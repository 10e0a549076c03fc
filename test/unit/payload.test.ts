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
const holding = (...keys: Buffer[]) => new Payloads({ keys, writes: true });
const TEXT = '{"content":"Grüße 👋, \\u0001 and a very recognisable sentence"}';
const CONTEXT = requestContext({ workspace: 'demo', requestId: 'one' });

test('what is sealed shows nothing of the text and opens to exactly the same', (t) => {
  const payloads = holding(NEW);
  for (const text of ['', TEXT, 'x'.repeat(200_000)]) {
    const sealed = payloads.seal(text, CONTEXT);
    t.false(text !== '' && sealed.includes(text.slice(0, 20)));
    t.is(payloads.open(sealed, CONTEXT), text);
  }
});

test('the same text is never sealed the same way twice', (t) => {
  const payloads = holding(NEW);
  const sealed = Array.from({ length: 1_000 }, () => payloads.seal(TEXT, CONTEXT));
  t.is(new Set(sealed).size, sealed.length);
  t.not(holding(NEW).seal(TEXT, CONTEXT), sealed[0]);
});

test('without a key a text stays as it is, and a process with a key reads it', (t) => {
  t.is(new Payloads().seal(TEXT, CONTEXT), TEXT);
  t.is(holding(NEW).open(TEXT, CONTEXT), TEXT);
});

test('keys that are for reading only leave a text as it is', (t) => {
  const reader = new Payloads({ keys: [NEW], writes: false });
  t.is(reader.seal(TEXT, CONTEXT), TEXT);
  t.is(reader.open(holding(NEW).seal(TEXT, CONTEXT), CONTEXT), TEXT);
  t.is(reader.fingerprints(TEXT)[0], new Payloads().fingerprints(TEXT)[0]);
  t.true(reader.fingerprints(TEXT).includes(holding(NEW).fingerprints(TEXT)[0]));
  t.deepEqual(reader.keyIds, { writes: null, holds: holding(NEW).keyIds.holds });
});

test('the first key encrypts, and all of them decrypt', (t) => {
  const before = holding(OLD);
  const during = holding(NEW, OLD);
  const after = holding(NEW);
  t.is(during.open(before.seal(TEXT, CONTEXT), CONTEXT), TEXT);
  t.is(after.open(during.seal(TEXT, CONTEXT), CONTEXT), TEXT);
  t.is(during.keyIds.writes, after.keyIds.writes);
  t.deepEqual(during.keyIds.holds, [...after.keyIds.holds, ...before.keyIds.holds]);
});

test('a key that is not held is named by its id, and no key is shown', (t) => {
  const other = holding(OLD);
  for (const reader of [holding(NEW), new Payloads()]) {
    const error = t.throws(() => reader.open(other.seal(TEXT, CONTEXT), CONTEXT), {
      instanceOf: UnreadablePayload,
    });
    t.true(error?.message.includes(other.keyIds.writes ?? 'none'));
    t.false(error?.message.includes(OLD.toString('hex')));
  }
});

test('a sealed text cannot be opened as that of another request, workspace or purpose', (t) => {
  const payloads = holding(NEW);
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
  const payloads = holding(NEW);
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

test('sealed bytes show nothing of the text, and open to exactly the same', (t) => {
  const payloads = holding(NEW);
  for (const text of ['', TEXT, 'x'.repeat(200_000)]) {
    const sealed = payloads.sealBytes(text, CONTEXT);
    t.false(text !== '' && sealed.includes(text.slice(0, 20)));
    t.is(String(payloads.openBytes(sealed, CONTEXT)), text);
    t.is(
      String(payloads.openBytes(Buffer.from(payloads.seal(text, CONTEXT)), CONTEXT)),
      text,
      'a sealed text',
    );
    t.is(
      String(payloads.openBytes(new Payloads().sealBytes(text, CONTEXT), CONTEXT)),
      text,
      'a text in clear',
    );
  }
});

test('sealed bytes that were cut or changed, or belong to another request or key, are refused', (t) => {
  const payloads = holding(NEW);
  const sealed = payloads.sealBytes('short', CONTEXT);
  const refused = (bytes: Buffer, context = CONTEXT, reader = payloads) =>
    t.throws(() => reader.openBytes(bytes, context), { instanceOf: UnreadablePayload });
  for (let i = 1; i < sealed.length; i++) {
    refused(sealed.subarray(0, i));
    const changed = Buffer.from(sealed);
    changed[i] = (changed[i] ?? 0) ^ 1;
    refused(changed);
  }
  refused(sealed, requestContext({ workspace: 'demo', requestId: 'two' }));
  refused(sealed, CONTEXT, holding(OLD));
  refused(sealed, CONTEXT, new Payloads());
});

test('an answer to an Idempotency-Key opens for every request with that key', (t) => {
  const payloads = holding(NEW);
  const leader = { workspace: 'demo', requestId: 'one', idempotency: 'digest' };
  const sealed = payloads.seal(TEXT, answerContext(leader));
  t.is(payloads.open(sealed, answerContext({ ...leader, requestId: 'two' })), TEXT);
  t.throws(() => payloads.open(sealed, answerContext({ ...leader, idempotency: 'another' })));
});

test('an error is sealed with its code and times in clear', (t) => {
  const payloads = holding(NEW);
  const error = { code: 'invalid_request', message: TEXT, param: TEXT, retryAfterMs: 5 } as const;
  const sealed = sealError(payloads, error, CONTEXT);
  t.false(JSON.stringify(sealed).includes('recognisable'));
  t.like(sealed, { code: 'invalid_request', retryAfterMs: 5 });
  t.deepEqual(openError(payloads, sealed, CONTEXT), error);
});

test('fingerprints of a text are keyed, and recognised across a change of keys', (t) => {
  const [plain] = new Payloads().fingerprints(TEXT);
  const before = holding(OLD).fingerprints(TEXT);
  const during = holding(NEW, OLD).fingerprints(TEXT);
  t.not(before[0], plain);
  t.not(before[0], during[0]);
  t.true(during.includes(before[0]));
  t.true(before.includes(plain));
  t.false(during.some((each) => holding(NEW, OLD).fingerprints(`${TEXT} `).includes(each)));
});

test('PAYLOAD_KEY takes keys of 32 bytes in base64 or hex, and nothing else', (t) => {
  const read = (text: string) => readEnv({ PAYLOAD_KEY: text }, payloadEnv).PAYLOAD_KEY;
  const writing = (...keys: Buffer[]) => ({ keys, writes: true });
  const [hex, base64, url] = [OLD.toString('hex'), OLD.toString('base64'), OLD.toString('base64url')];
  t.deepEqual(read(hex), writing(OLD));
  t.deepEqual(read(base64), writing(OLD));
  t.deepEqual(read(url), writing(OLD));
  t.deepEqual(read(`${NEW.toString('base64')}, ${base64}`), writing(NEW, OLD));
  t.deepEqual(read(`${NEW.toString('hex')}\n${base64}\n`), writing(NEW, OLD));
  t.deepEqual(read(`none,${hex}`), { keys: [OLD], writes: false });
  t.deepEqual(read('none'), { keys: [], writes: false });
  for (const wrong of [
    'short',
    `${hex},none`,
    hex.slice(1),
    `${base64}x`,
    `${base64},short`,
    `${'='.repeat(44)}`,
  ])
    t.throws(() => read(wrong), { message: /PAYLOAD_KEY: must be one or more keys of 32 bytes/ }, wrong);
});

test('a text that is only shown opens to nothing when its key is not held any more', (t) => {
  const sealed = new Payloads({ keys: [randomBytes(32)], writes: true }).seal('a name', 'context');
  t.is(new Payloads({ keys: [randomBytes(32)], writes: true }).tryOpen(sealed, 'context'), undefined);
  t.is(new Payloads().tryOpen('a name', 'context'), 'a name');
});
