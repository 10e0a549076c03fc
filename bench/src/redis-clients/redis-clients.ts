/** Other clients of Redis beside ours: would another one be cheaper? Each has its own process, and they take turns. */
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import { startRedis } from '@sluice/cli/start/redis-server';
import { connectPatiently } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';
import { scratch } from '../children.js';
import { inTurn } from '../in-turn.js';
import { describeMachine, machineLines } from '../machine.js';
import { figure, table, times } from '../markdown.js';
import { medianOf, medianRatio } from '../numbers.js';
import { readArgs, wholeNumber, wholeNumbers } from '../options.js';
import { Progress } from '../progress.js';
import { saveResult } from '../save.js';
import { CLIENTS } from './clients.js';
import type { Sample } from './run-client.js';
import { type RunningClient, startClient } from './start-client.js';

const HELP = `
npm run bench -- redis-clients [options]   our client of Redis beside others: would another one be cheaper?

  --in-flight 1,10,64     commands at a time; each runs a script of the weight of settle
  --rounds 5              turns of each client; medians are shown
  --commands 4000         of one turn
  --help

node-redis and Valkey GLIDE are installed from the npm registry into bench/.rivals on first use.
`.trim();

/** A guess, for the time that is left. */
const COMMANDS_PER_SECOND = 10_000;

interface Row extends RunningClient {
  inFlight: number;
  /** Round by round. */
  samples: Sample[];
}

export async function redisClients(args: string[]): Promise<void> {
  const values = readArgs(args, ['in-flight', 'rounds', 'commands'], ['help']);
  if (values.help) return console.log(HELP);
  const inFlights = wholeNumbers('in-flight', values['in-flight'] ?? '1,10,64');
  const rounds = wholeNumber('rounds', values.rounds ?? '5');
  const commands = wholeNumber('commands', values.commands ?? '4000');

  const machine = describeMachine();
  const server = await startRedis({ program: findOrInstallRedis(console.error), folder: scratch('redis') });
  const redis = connectPatiently(server.url);
  const clients: RunningClient[] = [];
  for (const client of CLIENTS) clients.push(await startClient(client, server.url));
  const tables = inFlights.map((inFlight) =>
    clients.map((client): Row => ({ ...client, inFlight, samples: [] })),
  );
  const turns = (rounds + 1) * inFlights.length * clients.length;
  const progress = new Progress(turns, (turns * commands) / COMMANDS_PER_SECOND);
  // Round 0 warms up, and does not count.
  for (let round = 0; round <= rounds; round++)
    for (const rows of tables)
      for (const { title, inFlight, take, samples } of inTurn(rows, round)) {
        progress.step(`${title}, ${inFlight} in flight, ${round === 0 ? 'warm-up' : `round ${round}`}`);
        const sample = await counted(redis, commands, () => take({ commands, inFlight }));
        if (round > 0) samples.push(sample);
      }
  progress.end();
  const page = [...machineLines(machine), '', toTable(tables)].join('\n');
  console.log(page);
  console.log(`\nWritten to ${saveResult('redis-clients', { machine, commands, tables }, page)}`);
  for (const { stop } of clients) stop();
  redis.disconnect();
  await server.stop();
}

/** A client that sends the text instead of the digest, or sends a command twice, would measure something else. */
async function counted(redis: Redis, commands: number, run: () => Promise<Sample>): Promise<Sample> {
  await redis.config('RESETSTAT');
  const sample = await run();
  const calls = /^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1];
  if (Number(calls) !== commands)
    throw new Error(`Redis counted ${calls} EVALSHA, and ${commands} were sent`);
  return sample;
}

function toTable(tables: readonly (readonly Row[])[]): string {
  const head = ['client', 'in flight', 'commands/s', 'to ours', 'CPU µs/command', 'to ours'];
  const rows = tables.flatMap((rows) =>
    rows.map(({ title, inFlight, samples }) => {
      const toOurs = (field: keyof Sample) =>
        times(medianRatio(samples, rows[0]?.samples ?? [], (sample) => sample[field]));
      const { perSecond, cpuUs } = medianOf(samples);
      return [title, inFlight, figure(perSecond), toOurs('perSecond'), figure(cpuUs), toOurs('cpuUs')];
    }),
  );
  return table(
    head,
    rows.map((row) => row.map(String)),
  );
}
