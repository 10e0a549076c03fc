import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Package managers put programs here, even if PATH does not name the folder. */
const USUAL_PLACES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/snap/bin'];

/** The machine, as far as finding and installing programs needs it. */
export interface Machine {
  /** The path of a program, if it is there. It may be given by its path, too. */
  find(program: string): string | undefined;
  isRoot: boolean;
  run(program: string, args: string[]): { ok: boolean; stderr: string };
  wait(ms: number): void;
}

export const thisMachine: Machine = {
  find: (program) => {
    if (isAbsolute(program)) return isExecutable(program) ? program : undefined;
    const folders = [...(process.env.PATH ?? '').split(delimiter), ...USUAL_PLACES].filter(Boolean);
    return folders.map((folder) => join(folder, program)).find(isExecutable);
  },
  isRoot: process.getuid?.() === 0,
  run: (program, args) => {
    // No questions, messages that can be read, and no service that starts by itself.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C', RUNLEVEL: '1' };
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    return { ok: status === 0, stderr: stderr ?? '' };
  },
  wait: (ms) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  },
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
