import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const DIST = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url));

test('the console takes types from the gateway and no code: a browser could not load it', (t) => {
  const modules = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  t.true(modules.length > 20);
  for (const name of modules)
    t.notRegex(readFileSync(join(DIST, name), 'utf8'), /from\s+['"]@sluice\//, name);
});
