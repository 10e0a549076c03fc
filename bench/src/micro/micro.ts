import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describeMachine, machineLines } from '../machine.js';
import { figure, table } from '../markdown.js';
import { readArgs, wholeNumber } from '../options.js';
import { saveResult } from '../save.js';
import type { Cost } from './cost.js';
import { measureRedis, type RedisStep } from './redis-steps.js';

const HELP = `
npm run bench -- micro [options]      what a request pays in our own code, step by step

  --seconds 1             of each step
  --requests 5000         through each script in Redis
  --help
`.trim();

/** Room for everything that one measurement allocates: a collection in the middle of it would take some away. */
const ROOM = ['--expose-gc', '--min-semi-space-size=128', '--max-semi-space-size=128'];

export async function micro(args: string[]): Promise<void> {
  const values = readArgs(args, ['seconds', 'requests'], ['help']);
  if (values.help) return console.log(HELP);
  const seconds = wholeNumber('seconds', values.seconds ?? '1');
  const requests = wholeNumber('requests', values.requests ?? '5000');
  const machine = describeMachine();
  const costs = await runCode(seconds);
  const steps = await measureRedis(requests);
  const page = [
    machineLines(machine).join('\n'),
    toTable(costs),
    `### In Redis\n\nRedis's own count over ${requests.toLocaleString('en')} requests, small prompt, one queue.`,
    redisTable(steps),
  ].join('\n\n');
  console.log(page);
  console.log(`\nWritten to ${saveResult('micro', { machine, costs, steps }, page)}`);
}

/** In a process of its own, for its flags. */
async function runCode(seconds: number): Promise<Cost[]> {
  const script = fileURLToPath(new URL('./run-cases.js', import.meta.url));
  const child = fork(script, [String(seconds)], {
    execArgv: ROOM,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const costs: Cost[] = [];
  child.on('message', (cost: Cost) => {
    costs.push(cost);
    console.error(
      `[${costs.length}/${cost.of}] ${cost.name} · ${Math.ceil((cost.of - costs.length) * seconds * 1.5)} s left`,
    );
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the measurement ended with ${code}`);
  return costs;
}

function toTable(costs: readonly Cost[]): string {
  const rows = costs.map(({ name, perSecond, bytes }) => [
    name,
    Math.round(perSecond).toLocaleString('en'),
    figure(1e6 / perSecond),
    Math.round(bytes).toLocaleString('en'),
  ]);
  return table(['step', 'operations/s', 'µs', 'bytes allocated'], rows);
}

function redisTable(steps: readonly RedisStep[]): string {
  return table(
    ['script', 'µs in Redis', 'with limits per minute'],
    steps.map(({ name, us, limitedUs }) => [name, figure(us), figure(limitedUs)]),
  );
}
