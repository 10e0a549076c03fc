import { choices, readArgs, savesToDocs, wholeNumber } from '../options.js';

export const STUDIES = [
  'processes',
  'backlog',
  'directory',
  'in-flight',
  'features',
  'sizes',
  'endurance',
] as const;
export type Study = (typeof STUDIES)[number];

export interface GrowthOptions {
  studies: readonly Study[];
  seconds: number;
  rounds: number;
  /** For the endurance run. */
  requests: number;
  connections: number;
  saveToDocs: boolean;
}

export const GROWTH_HELP = `
npm run bench -- growth [options]     does the cost of a request stay the same as things grow?

  --studies processes,backlog,directory,in-flight,features,sizes,endurance
            processes   1, 2, 4 workers × 1, 2 api processes
            backlog     0, 1,000, 10,000 jobs waiting in the provider's queue
            directory   1, 100, 10,000 workspaces, each with its key and route; and as many routes of one workspace
            in-flight   200, 1,000, 5,000 calls of ten seconds at a time
            features    with encryption, limits per minute and the archive in PostgreSQL on
            sizes       memory of the api and of Redis for a request that waits, and bytes of an entry of the log
            endurance   memory and latency over many requests
  --requests 1000000      of the endurance run
  --concurrency 64        callers at a time
  --seconds 5             of one measurement
  --rounds 3              measurements of each; medians are shown
  --save docs             put the tables into docs/performance.md
  --help
`.trim();

export function readGrowthOptions(args: string[]): GrowthOptions | undefined {
  const texts = ['studies', 'requests', 'concurrency', 'seconds', 'rounds', 'save'] as const;
  const values = readArgs(args, texts, ['help']);
  if (values.help) return undefined;
  return {
    studies: choices('studies', values.studies ?? STUDIES.join(), STUDIES),
    requests: wholeNumber('requests', values.requests ?? '1000000'),
    connections: wholeNumber('concurrency', values.concurrency ?? '64'),
    seconds: wholeNumber('seconds', values.seconds ?? '5'),
    rounds: wholeNumber('rounds', values.rounds ?? '3'),
    saveToDocs: savesToDocs(values.save),
  };
}
