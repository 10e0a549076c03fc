/**
 * The clients of docs/clients.md that are installed here: each with the lines of the page as they stand, and with a program
 * that tries every feature. `npm run clients` does the same with all of them.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENTS, versionOf } from '../clients/clients.js';
import { FEATURES, failuresOf, parseResults } from '../clients/features.js';
import { environmentFor, makeFlaky, startClientsGateway } from '../clients/gateway.js';
import { PROGRAMS } from '../clients/kits.js';
import { runProgram } from '../clients/run-program.js';
import { snippetOf } from '../clients/snippets.js';
import { folderOf, judgeSnippet } from '../clients/try-client.js';
import type { Gateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';

/** openai 7 asks for a newer Node than the project does. */
const HERE = ['openai-node-6', 'ai-sdk', 'langchain-js'];
/** A program takes as long as a busy machine needs for it. */
const PATIENCE_MS = 3_600_000;
/** Below the project's packages, so that they are found. */
const SNIPPETS = fileURLToPath(new URL('../snippets', import.meta.url));

let gateway: Gateway;
test.before(async () => {
  gateway = await startClientsGateway();
  rmSync(SNIPPETS, { recursive: true, force: true });
  mkdirSync(SNIPPETS, { recursive: true });
});
test.after.always(() => gateway?.stop());

for (const { name, snippet, program } of CLIENTS.filter((client) => HERE.includes(client.name))) {
  test.serial(`the lines for ${name} work as they stand`, async (t) => {
    const file = join(SNIPPETS, `${name}.mjs`);
    writeFileSync(file, snippetOf(snippet, gateway.url));
    const env = environmentFor(gateway);
    const ended = await runProgram(
      { program: process.execPath, args: [file], cwd: SNIPPETS, env },
      PATIENCE_MS,
    );
    t.deepEqual(judgeSnippet(ended), { result: 'yes', note: '' });
  });

  test.serial(`${name} has every feature`, async (t) => {
    makeFlaky(gateway);
    const env = environmentFor(gateway);
    const cwd = join(PROGRAMS, 'node');
    const ended = await runProgram({ program: process.execPath, args: [program], cwd, env }, PATIENCE_MS);
    const results = parseResults(ended.stdout).set('snippet', { result: 'yes', note: '' });
    t.deepEqual(failuresOf(results), []);
    t.is(results.size, Object.keys(FEATURES).length);
  });
}

/** Python's clients are installed by `npm run clients`, and kept. */
for (const { name, snippet, kit } of CLIENTS.filter((client) => client.kit.startsWith('python'))) {
  const folder = folderOf(kit);
  const isInstalled = existsSync(join(folder, 'venv'));
  const title = `the lines for ${name} work as they stand`;
  (isInstalled ? test.serial : test.serial.skip)(
    isInstalled ? title : `${title} (npm run clients installs it)`,
    async (t) => {
      // Not by its name alone, which is also that of the package.
      const file = join(SNIPPETS, `snippet-${name}.py`);
      writeFileSync(file, snippetOf(snippet, gateway.url));
      const env = environmentFor(gateway);
      const command = { program: join(folder, 'venv/bin/python'), args: [file], cwd: SNIPPETS, env };
      const ended = await runProgram(command, PATIENCE_MS);
      t.deepEqual(judgeSnippet(ended), { result: 'yes', note: '' });
    },
  );
}

test.serial('every client has its lines on the page, and its version in the list it is installed by', (t) => {
  for (const client of CLIENTS) {
    t.notThrows(() => snippetOf(client.snippet, 'http://127.0.0.1:1'), client.name);
    t.regex(versionOf(client), /^\d+\.\d+\.\d+$/, client.name);
  }
});
