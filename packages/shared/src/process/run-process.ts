import { MistakesError } from '../config/mistakes.js';

/** Ctrl-C under npm arrives twice, from the terminal and from npm: only a signal later than this is a second one. */
const SAME_SIGNAL_MS = 500;

export interface Started {
  /** Where it listens: what a port of 0 became. Told to the process that forked this one, with the news that it is ready. */
  urls: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * The life of a process: start, wait for SIGTERM or SIGINT, stop in order. A second signal ends it at once, as does the
 * first one while it is still starting. A configuration mistake is printed as it is; anything else that keeps it from
 * starting is printed in one line.
 */
export async function runProcess(name: string, start: () => Promise<Started>): Promise<void> {
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
  // Started by `npm start`, which is gone.
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
  process.send?.(started.urls);
}
