import { spawn } from 'node:child_process';

/** For a program that hangs. The heaviest of them take minutes to start on a busy machine. */
const MAX_MS = 1_200_000;

export interface Command {
  program: string;
  args: readonly string[];
  cwd: string;
  env?: Record<string, string>;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. Keys of the machine's owner are kept from it. */
export function runProgram({ program, args, cwd, env }: Command, maxMs = MAX_MS): Promise<Ended> {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:OPENAI|ANTHROPIC)_/.test(name));
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...Object.fromEntries(own), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: maxMs,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
