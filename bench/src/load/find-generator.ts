import { thisMachine } from '@sluice/cli/start/machine';
import { canInstall, findTool, installTools, type Tool } from '@sluice/cli/start/tools';
import { createAutocannon } from './autocannon.js';
import type { Generator } from './load.js';
import { createWrk } from './wrk.js';

const WRK: Tool = {
  name: 'wrk',
  programs: ['wrk'],
  packages: ['wrk'],
  elsewhere: 'install wrk, for example with "brew install wrk"',
};

/** wrk, Debian's where it can be installed; else autocannon, which takes more CPU from the servers. */
export function findGenerator(say: (line: string) => void): Generator {
  const found = findTool(WRK) ?? installWrk(say);
  if (found) return createWrk(found);
  say(
    'No wrk found ("apt-get install wrk" brings it); taking autocannon, which leaves the servers less CPU.',
  );
  return createAutocannon(say);
}

function installWrk(say: (line: string) => void): string | undefined {
  if (!canInstall(thisMachine)) return undefined;
  try {
    installTools([WRK], say);
  } catch (error) {
    say(String(error));
  }
  return findTool(WRK);
}
