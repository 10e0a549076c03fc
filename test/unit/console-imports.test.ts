import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const DIST = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url));

test('the console takes types from the gateway, and of its code only the reasons: a browser could not load it', (t) => {
  const modules = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  t.true(modules.length > 20);
  for (const name of modules)
    t.notRegex(readFileSync(join(DIST, name), 'utf8'), /from\s+['"]@sluice\/(?!shared\/reasons['"])/, name);
  const reasons = fileURLToPath(import.meta.resolve('@sluice/shared/reasons'));
  t.notRegex(readFileSync(reasons, 'utf8'), /^import\b|\bfrom\s+['"]/m, 'it imports nothing');
});
