import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { UnderWay } from '@sluice/shared/process/under-way';
import test from 'ava';

test('it has what was set, until that is deleted', (t) => {
  const underWay = new UnderWay<{ name: string }>();
  underWay.set('a', { name: 'first' });
  underWay.set('b', { name: 'second' });
  underWay.set('a', { name: 'third' });
  t.is(underWay.size, 2);
  t.true(underWay.has('a'));
  t.deepEqual(underWay.get('a'), { name: 'third' });
  t.deepEqual(underWay.values(), [{ name: 'third' }, { name: 'second' }]);
  t.true(underWay.delete('a'));
  t.false(underWay.delete('a'));
  t.is(underWay.get('a'), undefined);
  t.deepEqual(underWay.values(), [{ name: 'second' }]);
});

test('what was deleted does not become old', (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const underWay = new UnderWay<number[]>();
  // The first table becomes old, and the later ones hang on it.
  const oldBytes = () => {
    collect({ type: 'minor' });
    collect({ type: 'minor' });
    return process.memoryUsage().heapUsed;
  };
  underWay.set('first', []);
  collect();
  const before = oldBytes();
  for (let i = 0; i < 5_000; i++) {
    underWay.set(
      `${i}`,
      Array.from({ length: 200 }, () => i),
    );
    if (i >= 64) underWay.delete(`${i - 64}`);
    if (i % 200 === 0) collect({ type: 'minor' });
  }
  // They take 8.5 MB in all, of which a Map keeps 3.4.
  t.true(oldBytes() - before < 2_000_000);
});
