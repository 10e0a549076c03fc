import { spawnSync } from 'node:child_process';
import { findProgram } from '../find-program.js';
import { createAutocannon } from './autocannon.js';
import type { Generator } from './load.js';
import { createWrk } from './wrk.js';

/** wrk, Debian's where it can be installed; else autocannon, which takes more CPU from the servers. */
export function findGenerator(say: (line: string) => void): Generator {
  const found = findProgram('wrk') ?? installWrk(say);
  if (found) return createWrk(found);
  say(
    'No wrk found ("apt-get install wrk" brings it); taking autocannon, which leaves the servers less CPU.',
  );
  return createAutocannon(say);
}

function installWrk(say: (line: string) => void): string | undefined {
  const apt = findProgram('apt-get');
  if (!apt || process.getuid?.() !== 0) return undefined;
  say('No wrk found; installing it (apt-get install -y --no-install-recommends wrk) …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (...args: string[]) => spawnSync(apt, args, { env, stdio: 'ignore' }).status === 0;
  const install = () => run('install', '-y', '--no-install-recommends', 'wrk');
  // A machine that never asked for the package lists does not know the package.
  if (!install() && run('update')) install();
  return findProgram('wrk');
}
