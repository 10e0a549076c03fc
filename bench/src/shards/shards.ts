/** What a cell of several shards costs, on one Redis and on a Cluster. All take turns. */
import { namesOfShard } from '@sluice/shared/redis/shard';
import { addWorkspaces } from '../growth/add-workspaces.js';
import { inTurn } from '../in-turn.js';
import { findGenerator } from '../load/find-generator.js';
import type { Caller } from '../load/load.js';
import { describeMachine, machineLines } from '../machine.js';
import { table } from '../markdown.js';
import { measure } from '../measure.js';
import { readArgs, savesToDocs, wholeNumber, wholeNumbers } from '../options.js';
import { cpuOf } from '../process-cost.js';
import { Progress, rest } from '../progress.js';
import { saveResult, saveToDocs } from '../save.js';
import { startUpstream } from '../simulator.js';
import { CELL, type Sluice, startSluice } from '../sluice.js';
import { WARM_UP } from '../warm-up.js';
import { type Division, goalRows, spreadLines, toTable } from './page.js';

const HELP = `
npm run bench -- shards [options]     what a cell of several shards costs, on one Redis and on a Cluster

  --shards 1,4,16         on one Redis, each number a gateway of its own
  --masters 3             of the Cluster, which has the last number of shards; 1: none
  --workspaces 1000       that call in turn; each lives in one shard
  --concurrency 64        callers at a time
  --seconds 5             of one turn
  --rounds 4              turns of each; medians are shown, and the ratios are taken within a round
  --save docs             put the table into docs/production.md
  --help
`.trim();

const REST_MS = 500;
const IDLE_MS = 3_000;
const SLOTS = 16_384;

interface Running {
  division: Division;
  sluice: Sluice;
  callers: readonly Caller[];
}

export async function shards(args: string[]): Promise<void> {
  const texts = ['shards', 'masters', 'workspaces', 'concurrency', 'seconds', 'rounds', 'save'] as const;
  const values = readArgs(args, texts, ['help']);
  if (values.help) return console.log(HELP);
  const counts = wholeNumbers('shards', values.shards ?? '1,4,16');
  const masters = wholeNumber('masters', values.masters ?? '3');
  const workspaces = wholeNumber('workspaces', values.workspaces ?? '1000');
  const connections = wholeNumber('concurrency', values.concurrency ?? '64');
  const seconds = wholeNumber('seconds', values.seconds ?? '5');
  const rounds = wholeNumber('rounds', values.rounds ?? '4');
  const isSaved = savesToDocs(values.save);

  const machine = describeMachine();
  const generator = findGenerator(console.error);
  const upstream = await startUpstream(0);
  const divisions = counts.map((count) => divisionOf(count, 1));
  if (masters > 1) divisions.push(divisionOf(counts.at(-1) ?? 1, masters));
  const progress = new Progress(
    divisions.length * (rounds + 2),
    divisions.length * (WARM_UP.seconds + rounds * (seconds + REST_MS / 1_000) + 2 * (IDLE_MS / 1_000)),
  );
  const running: Running[] = [];
  for (const division of divisions) {
    progress.step(`${division.title}, start`);
    running.push(await start(division, upstream.url, workspaces));
  }
  const turn = async ({ sluice, callers }: Running, how: { connections: number; seconds: number }) => {
    const { urls, processes } = sluice;
    const sample = await measure(generator, { urls, callers, prompt: 'small', ...how }, processes);
    await rest(REST_MS);
    return sample;
  };
  for (const each of running) {
    progress.step(`${each.division.title}, warm-up`);
    await turn(each, { connections, seconds: Math.min(WARM_UP.seconds, 6 * seconds) });
  }
  for (let round = 0; round < rounds; round++) {
    for (const each of inTurn(running, round)) {
      progress.step(`${each.division.title}, round ${round + 1}`);
      each.division.samples.push(await turn(each, { connections, seconds }));
    }
    await measureIdle(running);
  }
  progress.end();
  for (const { sluice } of running) await sluice.stop();
  await upstream.stop();

  const figures = [toTable(divisions), spreadLines(divisions).join('\n')].join('\n\n').trim();
  const how = `Load: ${generator.name}, ${connections} callers of ${workspaces} workspaces; ${rounds} rounds of ${seconds} s, medians.`;
  const goals = table(['what', 'goal', 'measured', ''], goalRows(divisions), 2);
  const head = [...machineLines(machine), how].join('\n');
  const page = [head, ...(masters > 1 ? [goals] : []), figures].join('\n\n');
  console.log(page);
  console.log(`\nWritten to ${saveResult('shards', { machine, seconds, divisions }, page)}`);
  if (isSaved) {
    const command = ['npm run bench -- shards', ...args].join(' ');
    saveToDocs('shards', `\`\`\`sh\n${command}\n\`\`\`\n\n${head}\n\n${figures}`);
  }
}

function divisionOf(shards: number, masters: number): Division {
  const title = `${shards} shard${shards === 1 ? '' : 's'}${masters > 1 ? `, ${masters} masters` : ''}`;
  return { title, shards, masters, shardsOn: [], samples: [], idleUs: [] };
}

async function start(division: Division, upstreamUrl: string, workspaces: number): Promise<Running> {
  const { shards, masters } = division;
  const sluice = await startSluice({ upstreamUrl, shards, masters });
  division.shardsOn = await countOnMasters(sluice, shards, masters);
  return { division, sluice, callers: await addWorkspaces(sluice, workspaces) };
}

/** The masters have the slots in equal parts, in their order. */
async function countOnMasters({ redis }: Sluice, shards: number, masters: number): Promise<number[]> {
  if (masters === 1) return [shards];
  const counts = Array<number>(masters).fill(0);
  for (let id = 0; id < shards; id++) {
    const slot = await redis.cluster('KEYSLOT', namesOfShard(CELL, id).clock);
    const master = Math.floor((slot * masters) / SLOTS);
    counts[master] = (counts[master] ?? 0) + 1;
  }
  return counts;
}

/** What each costs while nobody calls anyone. */
async function measureIdle(running: readonly Running[]): Promise<void> {
  const before = running.map(({ sluice }) => cpuOf(sluice.processes));
  await rest(IDLE_MS);
  for (const [i, { division, sluice }] of running.entries())
    division.idleUs.push(
      Object.fromEntries(
        [...cpuOf(sluice.processes)].map(([name, us]) => [
          name,
          ((us - (before[i]?.get(name) ?? 0)) * 1_000) / IDLE_MS,
        ]),
      ),
    );
}
