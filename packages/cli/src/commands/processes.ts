/** The commands that run the gateway itself. Each loads its own code only when it is called: the others stay quick. */
import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import type { StartOptions } from '../start/run.js';
import { withExamples } from './examples.js';

interface WorkersOption {
  workers: number | 'auto';
}

export function addProcessCommands(program: Command): void {
  withExamples(
    program
      .command('start')
      .description(
        'Run the whole gateway on this machine: Redis, api and worker processes. Ctrl-C drains it and stops it.',
      )
      .option('--apis <n>', 'number of api processes', parseProcesses, 1)
      .option(
        '--workers <n|auto>',
        'number of worker processes; auto: as many as api processes, and one more from 4 cores on',
        parseWorkers,
        'auto' as const,
      )
      .option('--postgres', 'also start a PostgreSQL, and keep the request log and the spend in it')
      .option('--data <folder>', 'folder for the data, and the keys and secrets that are made', '.sluice'),
    'start',
    'start --workers 2 --apis 2',
    'start --postgres',
  ).action(async ({ workers, ...options }: WorkersOption & Omit<StartOptions, 'workers'>) => {
    const { runStart } = await import('../start/run.js');
    const count = workers === 'auto' ? workersFor(options.apis, availableParallelism()) : workers;
    await runStart({ ...options, workers: count });
  });
  withExamples(
    program
      .command('api')
      .description('Run one api process. It needs REDIS_URL, and listens until SIGTERM drains it.'),
    'api',
  ).action(async () => void (await import('@sluice/api/main')));
  withExamples(
    program
      .command('worker')
      .description('Run one worker process. It needs REDIS_URL and the provider keys; SIGTERM drains it.'),
    'worker',
  ).action(async () => void (await import('@sluice/worker/main')));
}

/**
 * A worker takes about as much of a core as an api process. One more lets requests go on at once when a worker dies, where
 * there is a core for it.
 */
export function workersFor(apis: number, cores: number): number {
  return cores >= 4 ? apis + 1 : apis;
}

function parseWorkers(text: string): number | 'auto' {
  return text === 'auto' ? 'auto' : parseProcesses(text);
}

function parseProcesses(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('must be a whole number from 1 to 99.');
  return Number(text);
}
