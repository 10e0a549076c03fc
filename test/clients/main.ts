/** `npm run clients`: every client of docs/clients.md against a real gateway. Exits with 1 when something fails. */
import { parseArgs } from 'node:util';
import { saveToDocs } from '@sluice/bench/save';
import { findTool } from '@sluice/cli/start/tools';
import type { Gateway } from '../helpers/gateway.js';
import { CLIENTS, type Client, versionOf } from './clients.js';
import { EXAMPLES, tryExample } from './examples.js';
import { failuresOf, joinResults, notInstalled, type Results, toList } from './features.js';
import { toLines, tryFields } from './fields.js';
import { ROUNDS, type Round, STATES, type State, startClientsGateway } from './gateway.js';
import { KITS } from './kits.js';
import { PAGE } from './snippets.js';
import { tryBatches } from './try-batches.js';
import { installOnce, tryClient, tryFeatures } from './try-client.js';

/** It has a table of its own. */
const BATCHES = 'batches-python';
/** And so has this: single fields, sent as they are. */
const FIELDS = 'fields';
/** Programs at a time in the rounds in which they cannot disturb each other. */
const AT_A_TIME = 4;

const HELP = `npm run clients -- [options]

  --only <name>   only this client; may be given more than once
  --state <name>  only when the first entries of the routes are up, refusing or down; may be given more than once
  --list          the names, and nothing else
  --save docs     write the tables to docs/clients.md, if all clients were run; with --only batches-python, write its table
  --help          this text

Every client goes through the aliases of gateway.yaml: with their first entries up, refusing a field with 400, and down. It
also goes through a model of each way: by chat completions, by Responses, and by Anthropic's messages.
Clients are installed into build/clients. One whose language is not on this machine is skipped.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    state: { type: 'string', multiple: true },
    list: { type: 'boolean' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const names = [...CLIENTS.map(({ name }) => name), ...Object.keys(EXAMPLES), BATCHES, FIELDS];
const unknown = values.only?.filter((name) => !names.includes(name)) ?? [];
const strange = values.state?.filter((name) => !STATES.includes(name as State)) ?? [];
const wants = (name: string) => values.only?.includes(name) ?? true;
const states = STATES.filter((state) => values.state?.includes(state) ?? true);
if (values.help) process.stdout.write(HELP);
else if (values.list) process.stdout.write(`${names.join('\n')}\n`);
else if (unknown.length > 0) fail(`no such client: ${unknown.join(', ')}; --list shows them`);
else if (strange.length > 0) fail(`no such state: ${strange.join(', ')}; there are ${STATES.join(', ')}`);
else if (
  values.save !== undefined &&
  (values.save !== 'docs' || ((values.only || values.state) && !isOnlyBatches()))
)
  fail('--save takes docs, and is for a run of all clients');
else await runAll();

function isOnlyBatches(): boolean {
  return values.only?.length === 1 && values.only[0] === BATCHES;
}

async function runAll(): Promise<void> {
  const clients = CLIENTS.filter(({ name, kit }) => wants(name) && isHere(name, KITS[kit].needs));
  const tried = new Map(clients.map((client) => [client, new Map<string, Results>()]));
  for (const round of ROUNDS.filter(({ state }) => states.includes(state))) {
    const hasExamples = round.aliases.includes('fast') && Object.keys(EXAMPLES).some(wants);
    const isWhole = round.features === undefined;
    const hasBatches = isWhole && wants(BATCHES);
    if (clients.length === 0 && !hasExamples && !hasBatches) continue;
    console.log(`\n${round.title}`);
    const gateway = await startClientsGateway(round);
    try {
      // A client that is rate-limited on purpose keeps the others from the provider.
      const atATime = isWhole ? 1 : AT_A_TIME;
      await eachOf(clients, atATime, async (client) => {
        tried.get(client)?.set(round.title, await runOne(client, gateway, round));
      });
      if (hasExamples) await runExamples(gateway, round.state);
      if (hasBatches) await runBatches(gateway);
    } finally {
      await gateway.stop();
    }
  }
  if (wants(FIELDS)) await runFields();
  const rows = [...tried].map(([client, results]) => ({
    title: `${client.title} ${versionOf(client)}`,
    results: joinResults(results),
  }));
  if (rows.length > 0) console.log(`\n${toList(rows)}`);
  if (values.save !== 'docs' || isOnlyBatches()) return;
  if (rows.length < CLIENTS.length) return fail('not saved: clients were skipped');
  save('clients', toList(rows));
}

function save(section: string, table: string): void {
  const about = `Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.`;
  saveToDocs(section, `${about}\n\n${table}`, PAGE);
}

async function runFields(): Promise<void> {
  const { failures, table } = await tryFields(states);
  report(FIELDS, toLines(failures));
  console.log(`\n${table}`);
}

async function runBatches(gateway: Gateway): Promise<void> {
  const client = CLIENTS.find(({ name }) => name === 'openai-python');
  if (!client || !isHere(BATCHES, 'python3')) return;
  const { failures, table } = await tryBatches(gateway, versionOf(client));
  report(
    BATCHES,
    failures.map(({ feature, note }) => `${feature}: ${note}`),
  );
  console.log(`\n${table}`);
  if (failures.length === 0 && values.save === 'docs') save('client-batches', table);
}

async function runExamples(gateway: Gateway, state: State): Promise<void> {
  for (const [name, example] of Object.entries(EXAMPLES)) {
    if (!wants(name) || !isHere(name, example.needs)) continue;
    const problem = await tryExample(example, gateway, state);
    report(name, problem === undefined ? [] : [problem]);
  }
}

const missing = new Set<string>();

/** Whether its language is on this machine. Says so once. */
function isHere(name: string, program: string): boolean {
  if (findTool({ name: program, programs: [program], packages: [], elsewhere: '' })) return true;
  if (!missing.has(name)) console.log(`skip ${name}: there is no ${program} on this machine`);
  missing.add(name);
  return false;
}

async function runOne(client: Client, gateway: Gateway, round: Round): Promise<Results> {
  const results = await installOnce(client.kit).then(
    (folder) =>
      round.features ? tryFeatures(client, folder, gateway, round) : tryClient(client, folder, gateway),
    (error: unknown) => notInstalled(String(error)),
  );
  const failures = failuresOf(results, round.features);
  report(
    `${client.name} ${versionOf(client)}`,
    failures.map(({ feature, note }) => `${feature}: ${note}`),
  );
  return results;
}

function report(name: string, failures: readonly string[]): void {
  console.log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const failure of failures) console.log(`     ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}

async function eachOf<Item>(
  items: readonly Item[],
  atATime: number,
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const runNext = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: atATime }, runNext));
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}
