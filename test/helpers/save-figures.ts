import { fileURLToPath } from 'node:url';
import { describeMachine } from '@sluice/bench/machine';
import { saveToDocs } from '@sluice/bench/save';

/** Pages of evidence. Those that say how something is done have no figures. */
export const PAGES = {
  chaos: 'reliability',
  soak: 'reliability',
  hostile: 'reliability',
  batches: 'reliability',
  limits: 'reliability',
  deadlines: 'reliability',
  quotes: 'reliability',
  money: 'reliability',
  containers: 'reliability',
  installs: 'reliability',
  front: 'reliability',
  'archive-faults': 'reliability',
  'archive-rate': 'reliability',
  'archive-away': 'reliability',
  'archive-queries': 'reliability',
  warm: 'performance',
} as const;

/** docs/reliability.md says once that its runs were on this machine. */
const USUAL = '2 cores, 24 GB, Node v20.20.2, Redis 7.0.15';

/** For `--save docs`: writes the figures of a run into a page, below its command and the machine they are of. */
export function figuresSaver(
  kind: keyof typeof PAGES,
  save: string | undefined,
  /** The script of npm that runs it. */
  script: string = kind,
): ((figures: string) => void) | undefined {
  if (save === undefined) return undefined;
  if (save !== 'docs') {
    process.stderr.write('--save takes docs\n');
    process.exit(2);
  }
  const command = ['npm run', script, '--', ...process.argv.slice(2)].join(' ');
  // Before the run: it says how busy the machine was by itself.
  const { cores, memoryGb, node, redis, commit, loadBefore } = describeMachine();
  const machine = `${cores} cores, ${memoryGb} GB, Node ${node}, Redis ${redis}`;
  const about = [
    ...(PAGES[kind] === 'reliability' && machine === USUAL ? [] : [machine]),
    `commit ${commit}`,
    `load before ${loadBefore}`,
  ];
  const page = fileURLToPath(new URL(`../../../docs/${PAGES[kind]}.md`, import.meta.url));
  return (figures) => saveToDocs(kind, `\`${command}\` (${about.join(', ')}):\n\n${figures}`, page);
}
