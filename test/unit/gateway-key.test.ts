import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import {
  isWellFormedKey,
  lastFour,
  makeGatewayKey,
  ownKeyMistake,
} from '@sluice/shared/contract/gateway-key';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import test from 'ava';

const VALUE = makeGatewayKey();
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const digestsOf = (...keys: Buffer[]) => new KeyDigests({ keys, writes: true });

test('a random value of 32 characters or more is taken, whatever it is made of', (t) => {
  const makers = [
    makeGatewayKey,
    randomUUID,
    () => randomBytes(16).toString('hex'),
    () => randomBytes(24).toString('base64url'),
    () => Array.from({ length: 32 }, () => randomInt(10)).join(''),
  ];
  for (const make of makers)
    for (let i = 0; i < 500; i++) {
      const value = make();
      t.is(ownKeyMistake(value), undefined, value);
    }
});

test('a value that is short, repeats itself or counts is refused by name', (t) => {
  t.regex(ownKeyMistake(randomBytes(16).toString('hex').slice(1)) ?? '', /^must be 32 to 200 letters/);
  for (const easy of [
    'a'.repeat(32),
    'password-password-password-password',
    '12345678901234567890123456789012',
    'abcdefghijklmnopqrstuvwxyz0123456789',
    '0123456789abcdef0123456789abcdef',
    'fedcba9876543210fedcba9876543210',
  ])
    t.regex(ownKeyMistake(easy) ?? '', /^is too easy to guess/, easy);
});

test('no more than four characters of a key are for showing', (t) => {
  t.true(VALUE.endsWith(lastFour(VALUE)));
  t.is(lastFour(VALUE).length, 4);
  t.true(isWellFormedKey(VALUE));
});

test('a digest is keyed: without the secret it cannot be made', (t) => {
  const digests = new Set([new KeyDigests(), digestsOf(OLD), digestsOf(NEW)].map((each) => each.of(VALUE)));
  t.is(digests.size, 3);
  t.is(digestsOf(NEW).of(VALUE), digestsOf(NEW).of(VALUE));
  t.false(digestsOf(NEW).of(VALUE).includes(new KeyDigests().of(VALUE)));
});

test('a key that was stored before the secret was set or changed is still found', (t) => {
  const now = digestsOf(NEW, OLD);
  for (const before of [digestsOf(OLD), new KeyDigests(), digestsOf(NEW)])
    t.true(now.all(VALUE).includes(before.of(VALUE)));
  t.false(digestsOf(NEW).all(VALUE).includes(digestsOf(OLD).of(VALUE)));
  t.is(now.all(VALUE)[0], now.of(VALUE));
});

test('a secret that is for reading only digests no new key', (t) => {
  const reader = new KeyDigests({ keys: [NEW], writes: false });
  t.is(reader.of(VALUE), new KeyDigests().of(VALUE));
  t.true(reader.all(VALUE).includes(digestsOf(NEW).of(VALUE)));
  t.deepEqual(reader.ids, { writes: null, holds: digestsOf(NEW).ids.holds });
});
