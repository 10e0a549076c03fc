/** Programs that the gateway or its tests need: found, or installed from Debian's packages where that is possible. */
import { type Machine, thisMachine } from './machine.js';

/** How long another installation on this machine may take. */
const LOCKED_MS = 600_000;
const LOOK_AGAIN_MS = 1_000;

export interface Tool {
  name: string;
  /** Any one of them will do. */
  programs: readonly string[];
  /** Debian's packages. */
  packages: readonly string[];
  /** What to do on another system. */
  elsewhere: string;
}

export function findTool({ programs }: Tool, { find } = thisMachine): string | undefined {
  return programs.map((program) => find(program)).find((path) => path !== undefined);
}

export function canInstall({ find, isRoot }: Machine): boolean {
  return isRoot && find('apt-get') !== undefined;
}

/** What somebody has to do to get these tools on this machine. */
export function howToGet(tools: readonly Tool[], machine = thisMachine): string {
  if (machine.find('apt-get'))
    return machine.find('sudo')
      ? `run "sudo ${installCommand(tools)}"`
      : `as root, run "${installCommand(tools)}"`;
  return tools.map(({ elsewhere }) => elsewhere).join('; ');
}

/**
 * Installs these tools by one run of apt-get. Waits while another program installs something: apt waits for dpkg's lock by
 * itself, and for the locks of its lists and archives we ask again.
 */
export function installTools(
  tools: readonly Tool[],
  say: (line: string) => void,
  machine = thisMachine,
): void {
  const names = tools.map(({ name }) => name).join(', ');
  const command = installCommand(tools);
  say(`${names}: not on this machine; installing (${command}). This can take some minutes …`);
  const packages = packagesOf(tools);
  const install = (...options: string[]) =>
    apt(machine, say, ['install', '-y', '--no-install-recommends', ...options, ...packages]);
  const missing = () => tools.filter((tool) => !findTool(tool, machine));
  if (install().ok && missing().length === 0) return;
  // A machine that never asked for the package lists does not know the packages, or knows versions that are gone.
  apt(machine, say, ['update']);
  const { ok, stderr } = install();
  if (!ok) throw new Error(`"${command}" failed:\n${stderr.trim()}`);
  // A package that is there, and has lost its program, is not repaired by installing it.
  if (missing().length > 0) install('--reinstall');
  const [first] = missing();
  if (first) throw new Error(`"${command}" did not install ${first.name}`);
}

function apt(machine: Machine, say: (line: string) => void, args: string[]) {
  const program = machine.find('apt-get') ?? 'apt-get';
  const locked = ['-o', `DPkg::Lock::Timeout=${LOCKED_MS / 1_000}`];
  for (let waitedMs = 0; ; waitedMs += LOOK_AGAIN_MS) {
    const result = machine.run(program, [...locked, ...args]);
    if (result.ok || waitedMs >= LOCKED_MS || !result.stderr.includes('Could not get lock')) return result;
    if (waitedMs === 0) say('Another program is installing packages; waiting for it …');
    machine.wait(LOOK_AGAIN_MS);
  }
}

function installCommand(tools: readonly Tool[]): string {
  return `apt-get install -y --no-install-recommends ${packagesOf(tools).join(' ')}`;
}

function packagesOf(tools: readonly Tool[]): string[] {
  return tools.flatMap(({ packages }) => packages);
}
