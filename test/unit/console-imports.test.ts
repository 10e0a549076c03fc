import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const DIST = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url));

const importsOf = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b[^'"]*from\s+['"]([^'"]+)['"]/gm)].map(
    ([, name = '']) => name,
  );

test('the console takes types from the gateway, and of its code only the contract and the words of reasons', (t) => {
  const modules = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  t.true(modules.length > 20);
  const taken = modules.flatMap((name) => importsOf(join(DIST, name)).filter((each) => each.startsWith('@')));
  const files = [...new Set(taken)].map((name) => {
    t.regex(name, /^@sluice\/shared\/(?:reasons|contract\/[\w-]+)$/);
    return fileURLToPath(import.meta.resolve(name));
  });
  t.true(files.length > 3);
  // A browser can load whatever these import in turn.
  const seen = new Set<string>();
  for (let file = files.pop(); file !== undefined; file = files.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const name of importsOf(file)) {
      t.regex(name, /^(?:superstruct|\.\/[\w-]+\.js)$/, `${file} imports ${name}`);
      if (name.startsWith('.')) files.push(join(dirname(file), name));
    }
  }
});
