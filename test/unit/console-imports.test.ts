import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const DIST = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url));

test('the console takes types from the gateway, and of its code only two tables: a browser could not load the rest', (t) => {
  const modules = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  t.true(modules.length > 20);
  for (const name of modules)
    t.notRegex(
      readFileSync(join(DIST, name), 'utf8'),
      /from\s+['"]@sluice\/(?!shared\/(?:reasons|contract\/presets)['"])/,
      name,
    );
  for (const name of ['reasons', 'contract/presets']) {
    const table = fileURLToPath(import.meta.resolve(`@sluice/shared/${name}`));
    t.notRegex(readFileSync(table, 'utf8'), /^import\b|\bfrom\s+['"]/m, `${name} imports nothing`);
  }
});
