import { type Machine, thisMachine } from '@sluice/cli/start/machine';
import { canInstall, howToGet, installTools } from '@sluice/cli/start/tools';
import { findMissing, mustHaveAll, TEST_TOOLS } from './tools.js';

/**
 * Installs what the tests need and this machine lacks, once and for all of them. Where it may not or cannot, it says which
 * tests are skipped and how to get what they need. False when that is a failure, as it is in CI.
 */
export function setUp(
  say: (line: string) => void,
  machine: Machine = thisMachine,
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  const missing = findMissing(TEST_TOOLS, machine);
  if (missing.length > 0 && canInstall(machine)) {
    try {
      installTools(missing, say, machine);
      say('Installed.');
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }
  const stillMissing = findMissing(TEST_TOOLS, machine);
  if (stillMissing.length === 0) return true;
  const names = stillMissing.map(({ name }) => name).join(', ');
  const failed = mustHaveAll(env);
  say(
    `Not on this machine: ${names}. ${failed ? 'CI must have them.' : 'Tests that need them are skipped.'}`,
  );
  say(`To get them, ${howToGet(stillMissing, machine)}.`);
  return !failed;
}
