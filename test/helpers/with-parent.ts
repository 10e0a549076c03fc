/** Children of a test end with it, however it ends: also when it is killed, or when they are frozen themselves. */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';

/** Where there is no setpriv (macOS), a killed test leaves its children behind. */
const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;

/**
 * Words to put before a command, which keeps its process id. Its process gets the signal from the kernel when the one that
 * started it is gone. TERM is for those that have children of their own to end.
 */
export function withParent(signal: 'KILL' | 'TERM' = 'KILL'): string[] {
  return hasSetpriv ? ['setpriv', '--pdeathsig', signal] : [];
}

export function spawnWithParent(command: readonly string[], options: SpawnOptions): ChildProcess {
  const [program = '', ...args] = [...withParent(), ...command];
  return spawn(program, args, options);
}
