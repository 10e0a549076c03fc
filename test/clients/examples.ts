/** The programs of `examples`, each through the alias `fast`. `npm test` runs most of them with the first entry up. */
import { REPOSITORY } from '../helpers/all-in-one.js';
import type { Gateway } from '../helpers/gateway.js';
import { environmentFor, type State } from './gateway.js';
import { runProgram } from './run-program.js';

interface Example {
  /** What has to be on the PATH. */
  needs: string;
  args: readonly string[];
  prints(provider: string): RegExp;
}

const servedBy = (provider: string) => new RegExp(`\\nServed by ${provider}\\.\\n$`);

/** By the names that --only takes. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  'example-curl': { needs: 'sh', args: ['examples/curl.sh'], prints: () => /"object":\s*"chat\.completion"/ },
  'example-node': { needs: 'node', args: ['examples/node.mjs'], prints: servedBy },
  'example-python': { needs: 'python3', args: ['examples/python.py'], prints: servedBy },
  'example-retry': {
    needs: 'node',
    args: ['examples/safe-retry.mjs'],
    prints: () => /^Replayed: true\. The same answer: true\.\n$/,
  },
  'example-go': { needs: 'go', args: ['run', 'examples/main.go'], prints: servedBy },
};

/** What went wrong. Nothing when it ran as it should. */
export async function tryExample(
  { needs, args, prints }: Example,
  gateway: Gateway,
  state: State,
): Promise<string | undefined> {
  const env = environmentFor(gateway);
  const { stdout, stderr } = await runProgram({ program: needs, args, cwd: REPOSITORY, env });
  return prints(state === 'up' ? 'openai' : 'anthropic').test(stdout) ? undefined : `${stdout}${stderr}`;
}
