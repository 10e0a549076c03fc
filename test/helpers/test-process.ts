/** An api or a worker of a test: within the test, or as a process of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { giveUpSilentAfter } from '@sluice/shared/redis/redis';
import type { LockTimes } from '@sluice/worker/jobs/chat-worker';
import { withParent } from './with-parent.js';

export interface TestProcess {
  /** Throws when it runs within the test. */
  child: ChildProcess;
  url: string;
  /** Where `/metrics` is; a worker's only address. */
  metricsUrl: string;
  /** Empty when it has no admin listener. */
  adminUrl: string;
  /** Ends it and waits for that; SIGTERM must end it well. Any other signal needs a process of its own. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Times that no operator can set. */
export interface Internals {
  locks?: LockTimes;
  redisCommandMs?: number;
  /** How long Redis may say nothing. It holds for all of this process. */
  silenceMs?: number;
}

/** A machine on which Redis and the test stop for seconds needs no more: nobody is taken for dead, and Redis for away. */
export const PATIENT: Internals = {
  locks: { lockMs: 120_000, renewMs: 5_000, stalledMs: 2_000 },
  redisCommandMs: 120_000,
  silenceMs: 120_000,
};

/**
 * For a gateway whose processes are killed. Others have the jobs of a dead one within seconds, and one that stood still for a few
 * seconds has lost nothing: its locks last ten seconds from the latest renewal, where an operator's last three.
 */
export const MORTAL: Internals = { ...PATIENT, locks: { lockMs: 12_000, renewMs: 2_000, stalledMs: 2_000 } };

const TELL_EVERY_MS = 60_000;

type Role = 'api' | 'worker';
type Environment = Record<string, string>;

export interface HereOptions {
  /** Gets everything that it prints. */
  print(text: string): void;
  internals: Internals;
}

export interface ProcessOptions extends HereOptions {
  /** How many files and sockets it may have open. */
  descriptors?: number;
}

/** A process of its own loads its own part only. */
export async function run(
  role: Role,
  env: NodeJS.ProcessEnv,
  internals: Internals,
  print?: (text: string) => void,
) {
  const { silenceMs, ...times } = internals;
  giveUpSilentAfter(silenceMs);
  const options = { ...times, ...(print ? { destination: { write: print } } : {}) };
  if (role === 'api') return (await import('@sluice/api/run-api')).runApi(env, options);
  return (await import('@sluice/worker/run-worker')).runWorker(env, options);
}

export async function startHere(
  role: Role,
  env: Environment,
  { print, internals }: HereOptions,
): Promise<TestProcess> {
  const started = await run(role, env, internals, print);
  let stopped: Promise<void> | undefined;
  return {
    get child(): ChildProcess {
      throw new Error(`this ${role} runs within the test: start the gateway with ownProcesses`);
    },
    ...addressesOf(started.urls),
    async end(signal = 'SIGTERM') {
      if (signal !== 'SIGTERM') throw new Error(`${signal} needs a gateway with ownProcesses`);
      stopped ??= started.stop();
      await stopped;
    },
  };
}

export async function startProcess(
  role: Role,
  env: Environment,
  { print, descriptors, internals }: ProcessOptions,
): Promise<TestProcess> {
  const isChanged = Object.keys(internals).length > 0;
  const script = fileURLToPath(
    isChanged ? new URL('process-main.js', import.meta.url) : import.meta.resolve(`@sluice/${role}/main`),
  );
  const limited = descriptors ? ['prlimit', `--nofile=${descriptors}:${descriptors}`] : [];
  const [execPath = '', ...execArgv] = [...withParent(), ...limited, process.execPath];
  const child = fork(script, isChanged ? [role, JSON.stringify(internals)] : [], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execPath,
    execArgv,
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
    print(chunk.toString());
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const [urls]: Record<string, string>[] = await Promise.race([
    once(child, 'message'),
    once(child, 'close').then(() => Promise.reject(new Error(`the ${role} did not start:\n${output}`))),
  ]);
  return {
    child,
    ...addressesOf(urls ?? {}),
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // By then all that it has printed has been read, too.
      const closed = once(child, 'close');
      child.kill(signal);
      const tell = () =>
        process.stderr.write(`still waiting for: the end of the ${role}\n${output.slice(-2000)}\n`);
      const telling = setInterval(tell, TELL_EVERY_MS);
      const [code] = await closed;
      clearInterval(telling);
      if (signal === 'SIGTERM' && code !== 0)
        throw new Error(`the ${role} ended with ${code}:\n${output.slice(-2000)}`);
    },
  };
}

function addressesOf(urls: Record<string, string>) {
  return { url: urls.api ?? urls.metrics ?? '', metricsUrl: urls.metrics ?? '', adminUrl: urls.admin ?? '' };
}
