/** Everything that a process loads at its start costs memory and time in each process. Large parts are loaded when used. */
import { execFileSync } from 'node:child_process';
import test from 'ava';

/** Node's own modules and the CommonJS files that are in memory once these modules are imported. */
function loadedWith(...modules: string[]): string[] {
  const imports = modules.map((name) => `await import(${JSON.stringify(import.meta.resolve(name))});`);
  const program = `
    import { createRequire } from 'node:module';
    ${imports.join('\n')}
    const files = Object.keys(createRequire(import.meta.url).cache);
    process.stdout.write([...process.moduleLoadList, ...files].join('\\n'), () => process.exit());
  `;
  const answer = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  return answer.split('\n');
}

const NODES_UNDICI = 'NativeModule internal/deps/undici/undici';

test('an api process starts without bull-board, without pg, and without the undici inside Node', (t) => {
  const loaded = loadedWith('@sluice/api/api', '@sluice/admin/admin');
  t.true(loaded.some((file) => file.includes('/bullmq/')));
  t.deepEqual(
    loaded.filter((file) => /\/node_modules\/(?:@bull-board|pg)\//.test(file) || file === NODES_UNDICI),
    [],
  );
});

test('a worker process starts with a small part of undici, without pg, and without the undici inside Node', (t) => {
  const loaded = loadedWith('@sluice/worker/worker');
  t.true(loaded.some((file) => file.endsWith('/undici/lib/dispatcher/pool.js')));
  t.deepEqual(
    loaded.filter((file) => /\/node_modules\/(?:pg\/|undici\/index\.js)/.test(file) || file === NODES_UNDICI),
    [],
  );
});
