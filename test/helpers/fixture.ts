import { readFileSync, writeFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';

/** Compares with a file of test/fixtures. A change that is meant is written with `WRITE_FIXTURES=1`. */
export function isAsInFixture(t: ExecutionContext, name: string, text: string): void {
  const file = new URL(`../../fixtures/${name}`, import.meta.url);
  if (process.env.WRITE_FIXTURES === '1') writeFileSync(file, text);
  const lines = (whole: string) => whole.split('\n');
  const expected = lines(readFileSync(file, 'utf8'));
  const found = lines(text);
  const [now, before] = [new Set(found), new Set(expected)];
  t.deepEqual(
    { gone: expected.filter((line) => !now.has(line)), new: found.filter((line) => !before.has(line)) },
    { gone: [], new: [] },
    name,
  );
  t.is(text, expected.join('\n'));
}
