import { MistakesError } from '../contract/mistakes.js';
import { adjustHeapGrowth } from './heap-growth.js';

/** Ctrl-C under npm arrives twice, from the terminal and from npm. Only a signal after this time counts as a second one. */
const SAME_SIGNAL_MS = 500;

export interface Started {
  /** The addresses of the listeners. The parent process is told them when this process is ready. */
  urls: Record<string, string>;
  /** Reads the configuration again. */
  reload?: () => void;
  stop(): Promise<void>;
}

/**
 * Runs a process: it starts, waits for SIGTERM or SIGINT, and stops in order. A second signal ends the process at once, and
 * so does the first signal during the start. Mistakes in the configuration are printed as they are. Any other error that
 * prevents the start is printed in one line.
 */
export async function runProcess(name: string, start: () => Promise<Started>): Promise<void> {
  adjustHeapGrowth();
  let started: Started | undefined;
  let stoppingSince: number | undefined;
  const onSignal = () => {
    if (!started) process.exit(1);
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    started.stop().then(
      () => process.exit(0),
      (error) => {
        process.stderr.write(`sluice ${name}: stopped with an error: ${error}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // `npm start` has started this process and is gone.
  process.on('disconnect', onSignal);

  try {
    started = await start();
  } catch (error) {
    const text =
      error instanceof MistakesError
        ? error.message
        : `cannot start: ${error instanceof Error ? error.message : error}`;
    process.stderr.write(`sluice ${name}: ${text}\n`);
    process.exit(1);
  }
  const { reload } = started;
  // A terminal that closes sends SIGHUP too, and the process must end then.
  if (reload && !process.stdin.isTTY) process.on('SIGHUP', reload);
  process.send?.(started.urls);
}
