import { SchemaChecker } from '@sluice/worker/answer-check/schema-checker';
import test from 'ava';

/** Only a check that is given up is slow, and one may wait for as long as a busy machine takes. */
const checker = new SchemaChecker({ maxWaitMs: 120_000, slowMs: 950 });
test.after.always(() => checker.close());

let asked = 0;
/** Each as a workspace of its own, unless one is named. */
const check = (schema: unknown, value: unknown, workspace = `workspace-${asked++}`) =>
  checker.check(workspace, [{ schema: JSON.stringify(schema), text: JSON.stringify(value) }]);

test.serial('a text fits its schema or does not', async (t) => {
  const schema = { type: 'array', items: { $ref: '#/$defs/n' }, maxItems: 2, $defs: { n: { minimum: 1 } } };
  t.is(await check(schema, [1, 2]), 'fits');
  t.is(await check(schema, [0]), 'unfit');
  t.is(await check(schema, [1, 2, 3]), 'unfit');
  t.is(await checker.check('one', [{ schema: '{}', text: 'no JSON' }]), 'unfit');
});

test.serial('all texts have to fit', async (t) => {
  const claim = (text: string) => ({ schema: '{"type":"string"}', text });
  t.is(await checker.check('one', [claim('"a"'), claim('"b"')]), 'fits');
  t.is(await checker.check('one', [claim('"a"'), claim('1')]), 'unfit');
});

test.serial('older drafts are read as they were meant', async (t) => {
  const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
  t.is(await check(tuple, ['a', 1]), 'fits');
  t.is(await check(tuple, [1]), 'unfit');
});

test.serial('a schema that is none, or too large, leaves the text unchecked', async (t) => {
  t.is(await check({ $ref: '#/nowhere' }, 1), 'unchecked');
  t.is(await check({ $ref: 'https://example.com/schema' }, 1), 'unchecked');
  t.is(await check({ pattern: '(' }, 'x'), 'unchecked');
  t.is(await check({ $comment: 'x'.repeat(1_000_000) }, 1), 'unchecked');
});

test.serial('a schema that takes too long is given up, and not tried again', async (t) => {
  const endless = { pattern: '^(a+)+$' };
  const value = `${'a'.repeat(60)}!`;
  const first = check(endless, value);
  const behind = check({ type: 'string' }, 'x');
  t.is(await first, 'unchecked');
  t.is(await behind, 'fits');
  const later = new Promise((resolve) => setImmediate(resolve, 'it was tried'));
  t.is(await Promise.race([check(endless, value), later]), 'unchecked');
});

test.serial(
  'a schema that multiplies the work of each level is given up too, and the next check has a new thread',
  async (t) => {
    const branch = { items: { anyOf: Array.from({ length: 8 }, () => ({ $ref: '#/$defs/deep' })) } };
    const value = Array.from({ length: 3_000 }, () => [[[[[[1]]]]]]);
    t.is(
      await check({ $ref: '#/$defs/deep', $defs: { deep: { ...branch, minItems: 2 } } }, value),
      'unchecked',
    );
    t.is(await check({ type: 'string' }, 'x'), 'fits');
  },
);

test.serial(
  'a workspace whose checks take too long has to pause, and those of others are made',
  async (t) => {
    const value = `${'a'.repeat(60)}!`;
    const endless = Array.from({ length: 5 }, (_, i) =>
      check({ pattern: '^(a+)+$', title: `number ${i}` }, value, 'attacker'),
    );
    const behind = Array.from({ length: 3 }, (_, i) => check({ type: 'string' }, 1, `innocent-${i}`));
    t.deepEqual(await Promise.all(behind), ['unfit', 'unfit', 'unfit']);
    t.deepEqual([...new Set(await Promise.all(endless))], ['unchecked']);
    t.is(await check({ type: 'string' }, 1, 'attacker'), 'unchecked', 'it pauses');
    t.is(await check({ type: 'string' }, 1, 'innocent-0'), 'unfit');
  },
);

test.serial(
  'time in which this process stands still counts neither against a check nor its workspace',
  async (t) => {
    const schema = { type: 'string', title: 'checked in a moment' };
    t.is(await check(schema, 1, 'still'), 'unfit');
    const checked = check(schema, 1, 'still');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    t.is(await checked, 'unfit');
    t.is(await check(schema, 1, 'still'), 'unfit', 'it need not pause');
  },
);
