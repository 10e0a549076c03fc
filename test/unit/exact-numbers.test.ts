import { isKeptNumber, parseExactly, toPlainNumber, writeExactly } from '@sluice/shared/json/exact';
import test from 'ava';
import fc from 'fast-check';

const again = (text: string) => writeExactly(parseExactly(text) as object);

test('numbers that JavaScript would change are written as they were', (t) => {
  for (const number of [
    '12345678901234567890',
    '-9223372036854775808',
    '9007199254740993',
    '1.0',
    '-0',
    '-0.0',
    '0.10',
    '1e3',
    '1E+2',
    '1e400',
    '-1e-400',
    '5e-324',
    '3.14159265358979323846264338327950288',
    '9'.repeat(400),
  ]) {
    for (const text of [`[${number}]`, `{"a":{"b":[1,${number},"${number}"]},"c":${number}}`])
      t.is(again(text), text);
  }
});

test('numbers that JavaScript keeps are numbers', (t) => {
  const text = '[0,1,-1,0.5,-0.25,1700000000,9007199254740991,1e+21,1.5e-7]';
  t.deepEqual(parseExactly(text), JSON.parse(text));
  t.is(again(text), text);
});

test('what looks like a number in a string stays in it', (t) => {
  const text = JSON.stringify({
    '1.0': '12345678901234567890',
    a: '\\"1.0',
    b: `${'x'.repeat(100)}\\\\"1.0`,
  });
  t.deepEqual(parseExactly(text), JSON.parse(text));
  t.is(again(text), text);
});

test('what is not JSON is refused as ever', (t) => {
  for (const text of [
    '[01.0]',
    '[1.]',
    '[.5]',
    '[1.2.3]',
    '[--1.0]',
    '[1e]',
    '[1.0 2]',
    '{1.0:2}',
    '[1.0',
    '[1.0"]',
    '"',
  ])
    t.throws(() => parseExactly(text), { instanceOf: SyntaxError }, text);
});

test('a number by itself is a number', (t) => {
  t.is(parseExactly(' 1.0 '), 1);
});

test('a kept number can be calculated with, and no text from outside can pretend to be one', (t) => {
  const [kept] = parseExactly('[1.50]') as unknown[];
  t.true(isKeptNumber(kept));
  t.is(toPlainNumber(kept), 1.5);
  t.is(toPlainNumber('1.50'), '1.50');
  const [key] = Object.keys(kept as object);
  t.not(key, 'number');
  t.regex(key ?? '', /^number [\w-]{22}$/);
});

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt().map(String),
  fc.tuple(fc.bigInt(), fc.nat(), fc.integer()).map(([a, b, c]) => `${a}.${b}e${c}`),
);
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    number,
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('json')).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(
        fc.tuple(
          fc.string({ minLength: 1 }).map((key) => `k${key}`),
          tie('json'),
        ),
        {
          selector: ([key]) => key,
        },
      )
      .map((fields) => `{${fields.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  ),
}));

test('any JSON is the same text after it was parsed and written', (t) => {
  fc.assert(
    fc.property(json, (text) => {
      t.is(again(`[${text}]`), `[${text}]`);
    }),
    { numRuns: 1_000 },
  );
});
