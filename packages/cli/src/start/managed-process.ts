/**
 * A process that is kept running: when it ends by itself, it is started again. It has a process group of its own, so that
 * only `stop` sends it a signal. When this process is gone, the channel between the two closes, and it ends.
 * Once it is told to stop, `#stopping` stays true, and no restart that was planned before happens.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

const RESTART_MS = 1_000;

export interface ManagedOptions {
  /** Shown to people: `worker 2`. */
  name: string;
  script: string;
  env: NodeJS.ProcessEnv;
  say(line: string): void;
}

export class ManagedProcess {
  #child: ChildProcess | undefined;
  #stopping = false;

  constructor(readonly options: ManagedOptions) {}

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when the process says that it is ready; rejects when it ends before. */
  async start(timeoutMs: number): Promise<void> {
    const { name } = this.options;
    const child = this.#spawn();
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`the ${name} process was not ready after ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      child.once('message', () => resolve());
      child.once('exit', () => reject(new Error(`the ${name} process did not start`)));
      child.once('exit', () => clearTimeout(late));
      child.once('message', () => clearTimeout(late));
    });
    child.once('exit', (code, signal) => this.#restart(code ?? signal));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await end(this.#child, 'SIGTERM');
  }

  kill(): void {
    this.#stopping = true;
    this.#child?.kill('SIGKILL');
  }

  #spawn(): ChildProcess {
    const { script, env } = this.options;
    this.#child = fork(script, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return this.#child;
  }

  #restart(why: unknown): void {
    if (this.#stopping) return;
    this.options.say(`The ${this.options.name} process ended (${why}); starting it again.`);
    setTimeout(() => {
      if (this.#stopping) return;
      this.#spawn().once('exit', (code, signal) => this.#restart(code ?? signal));
    }, RESTART_MS);
  }
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
