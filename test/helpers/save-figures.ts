import { fileURLToPath } from 'node:url';
import { describeMachine, machineLines } from '@sluice/bench/machine';
import { saveToDocs } from '@sluice/bench/save';

const PAGE = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url));

/**
 * For `--save docs`: writes the figures of a run into docs/reliability.md, below its command and the machine they are of.
 */
export function figuresSaver(
  kind: 'chaos' | 'soak' | 'hostile',
  save: string | undefined,
): ((figures: string) => void) | undefined {
  if (save === undefined) return undefined;
  if (save !== 'docs') {
    process.stderr.write('--save takes docs\n');
    process.exit(2);
  }
  const command = ['npm run', kind, '--', ...process.argv.slice(2)].join(' ');
  // Before the run: it says how busy the machine was by itself.
  const machine = machineLines(describeMachine()).join('\n');
  return (figures) => saveToDocs(kind, `\`\`\`sh\n${command}\n\`\`\`\n\n${machine}\n\n${figures}`, PAGE);
}
