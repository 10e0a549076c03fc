/**
 * `npm run tasks`: does each task of an operator in a real Chromium and with the `sluice` command, counts the steps, and lets
 * axe look at every page on the way.
 */
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../helpers/browser.js';
import { audit, PATIENCE_MS } from '../helpers/console.js';
import { toMarkdownTable } from '../helpers/markdown-table.js';
import { sluiceOf } from '../helpers/sluice.js';
import { Hand, Terminal } from './hand.js';
import { signInAtProvider } from './sign-in-task.js';
import { TASKS, type Task } from './tasks.js';
import { startWorld, type World } from './world.js';

const HELP = `npm run tasks -- [options]

  --only slow     only the tasks with this word in their title
  --help          this text

Does each task of an operator in the console and with sluice, and counts the steps. It takes about three minutes.
`;

const { values } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } });
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}

/** Every task begins in a gateway that was just started, in the console and again with the command. */
async function inNewWorld(task: Task, work: (world: World) => Promise<string>): Promise<string> {
  const world = await startWorld({ archive: task.needsArchive ?? false });
  try {
    await task.before?.(world);
    return await work(world);
  } finally {
    await world.stop();
  }
}

async function doInConsole(task: Task, world: World, browser: Browser): Promise<string> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 820 },
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  try {
    const hand = new Hand(page);
    await hand.open(world.link);
    await task.inConsole(hand, world);
    const findings = await audit(page);
    if (findings.length > 0) throw new Error(`axe: ${findings.join('; ')}`);
    return String(hand.steps);
  } finally {
    await context.close();
  }
}

async function doInTerminal(task: Task, world: World): Promise<string> {
  const terminal = new Terminal(sluiceOf(world.gateway));
  await task.inTerminal(terminal, world);
  return String(terminal.steps);
}

/** A task that cannot be done is a row too, and the command fails. */
async function attempt(what: string, work: () => Promise<string>): Promise<string> {
  process.stderr.write(`${what} …\n`);
  try {
    return await work();
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${what}: ${error instanceof Error ? error.message : error}\n`);
    return 'failed';
  }
}

const browser = await launchBrowser();
const rows = [['Task', 'Steps in the console', 'Steps with sluice']];
try {
  for (const task of TASKS.filter(({ title }) => title.includes(values.only ?? '')))
    rows.push([
      task.title,
      await attempt(`${task.title}, console`, () =>
        inNewWorld(task, (world) => doInConsole(task, world, browser)),
      ),
      await attempt(`${task.title}, sluice`, () => inNewWorld(task, (world) => doInTerminal(task, world))),
    ]);
  const signedIn = await attempt('Sign in', async () => {
    const world = await startWorld();
    return signInAtProvider(world, browser).finally(() => world.stop());
  });
  rows.push(['Sign in through OpenID Connect', signedIn, 'by token: no step']);
} finally {
  await browser.close();
}
const table = toMarkdownTable(rows);
process.stdout.write(`${table}\n`);
