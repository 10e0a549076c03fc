import { FaultsError } from './faults.js';

/** Ctrl-C under npm arrives twice, from the terminal and from npm: only a signal later than this is a second one. */
const SAME_SIGNAL_MS = 500;

/**
 * The life of a process: start, wait for SIGTERM or SIGINT, stop in order. A second signal ends it at once, as does the
 * first one while it is still starting. A configuration fault is printed as it is; anything else that keeps it from
 * starting is printed in one line.
 */
export async function runProcess(name: string, start: () => Promise<() => Promise<void>>): Promise<void> {
  let stop: (() => Promise<void>) | undefined;
  let stoppingSince: number | undefined;
  const onSignal = () => {
    if (!stop) process.exit(1);
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    stop().then(
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
    stop = await start();
  } catch (error) {
    const text =
      error instanceof FaultsError
        ? error.message
        : `cannot start: ${error instanceof Error ? error.message : error}`;
    process.stderr.write(`sluice ${name}: ${text}\n`);
    process.exit(1);
  }
  process.send?.('ready');
}
