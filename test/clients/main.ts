/** `npm run clients`: every client of docs/clients.md against a real gateway. Exits with 1 when something fails. */
import { parseArgs } from 'node:util';
import { saveToDocs } from '@sluice/bench/save';
import { findTool } from '@sluice/cli/start/tools';
import { REPOSITORY } from '../helpers/all-in-one.js';
import type { Gateway } from '../helpers/gateway.js';
import { CLIENTS, type Client, versionOf } from './clients.js';
import { failuresOf, notInstalled, type Results, toList } from './features.js';
import { environmentFor, startClientsGateway } from './gateway.js';
import { KITS } from './kits.js';
import { runProgram } from './run-program.js';
import { PAGE } from './snippets.js';
import { tryBatches } from './try-batches.js';
import { installOnce, tryClient } from './try-client.js';

/** Of --only: it is no client of the table. */
const GO_EXAMPLE = 'example-go';
/** It has a table of its own. */
const BATCHES = 'batches-python';

const HELP = `npm run clients -- [options]

  --only <name>   only this client; may be given more than once
  --list          the names, and nothing else
  --save docs     write the tables to docs/clients.md, if all clients were run; with --only batches-python, write its table
  --help          this text

Clients are installed into build/clients. One whose language is not on this machine is skipped.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    list: { type: 'boolean' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const names = [...CLIENTS.map(({ name }) => name), GO_EXAMPLE, BATCHES];
const unknown = values.only?.filter((name) => !names.includes(name)) ?? [];
if (values.help) process.stdout.write(HELP);
else if (values.list) process.stdout.write(`${names.join('\n')}\n`);
else if (unknown.length > 0) fail(`no such client: ${unknown.join(', ')}; --list shows them`);
else if (values.save !== undefined && (values.save !== 'docs' || (values.only && !isOnlyBatches())))
  fail('--save takes docs, and is for a run of all clients');
else await runAll(CLIENTS.filter(({ name }) => values.only?.includes(name) ?? true));

function isOnlyBatches(): boolean {
  return values.only?.length === 1 && values.only[0] === BATCHES;
}

async function runAll(clients: readonly Client[]): Promise<void> {
  const gateway = await startClientsGateway();
  try {
    const rows: { title: string; results: Results }[] = [];
    for (const client of clients) {
      const title = `${client.title} ${versionOf(client)}`;
      const results = await runOne(client, gateway);
      if (results) rows.push({ title, results });
    }
    if (values.only?.includes(GO_EXAMPLE) ?? true) await runGoExample(gateway);
    if (values.only?.includes(BATCHES) ?? true) await runBatches(gateway);
    if (isOnlyBatches()) return;
    const list = toList(rows);
    if (rows.length > 0) console.log(`\n${list}`);
    if (values.save !== 'docs') return;
    if (rows.length < CLIENTS.length) return fail('not saved: clients were skipped');
    save('clients', list);
  } finally {
    await gateway.stop();
  }
}

function save(section: string, table: string): void {
  const about = `Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.`;
  saveToDocs(section, `${about}\n\n${table}`, PAGE);
}

async function runBatches(gateway: Gateway): Promise<void> {
  const client = CLIENTS.find(({ name }) => name === 'openai-python');
  if (!client || !hasProgram('python3'))
    return console.log(`skip ${BATCHES}: there is no python3 on this machine`);
  const { failures, table } = await tryBatches(gateway, versionOf(client));
  console.log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${BATCHES}\n\n${table}`);
  for (const { feature, note } of failures) console.log(`     ${feature}: ${note}`);
  if (failures.length > 0) process.exitCode = 1;
  else if (values.save === 'docs') save('client-batches', table);
}

/** `npm test` runs the other examples. Go compiles for too long there. */
async function runGoExample(gateway: Gateway): Promise<void> {
  if (!hasProgram('go')) return console.log('skip examples/main.go: there is no go on this machine');
  const { stdout, stderr } = await runProgram({
    program: 'go',
    args: ['run', 'examples/main.go'],
    cwd: REPOSITORY,
    env: environmentFor(gateway),
  });
  const isFine = /\nServed by openai\.\n$/.test(stdout);
  console.log(isFine ? 'ok   examples/main.go' : `FAIL examples/main.go\n     ${stderr}`);
  if (!isFine) process.exitCode = 1;
}

function hasProgram(name: string): boolean {
  return findTool({ name, programs: [name], packages: [], elsewhere: '' }) !== undefined;
}

/** Nothing for a client whose language is not on this machine. */
async function runOne(client: Client, gateway: Gateway): Promise<Results | undefined> {
  const { needs } = KITS[client.kit];
  if (!hasProgram(needs)) {
    console.log(`skip ${client.name}: there is no ${needs} on this machine`);
    return undefined;
  }
  const results = await installOnce(client.kit).then(
    (folder) => tryClient(client, folder, gateway),
    (error: unknown) => notInstalled(String(error)),
  );
  const failures = failuresOf(results);
  console.log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${client.name} ${versionOf(client)}`);
  for (const { feature, note } of failures) console.log(`     ${feature}: ${note}`);
  if (failures.length > 0) process.exitCode = 1;
  return results;
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}
