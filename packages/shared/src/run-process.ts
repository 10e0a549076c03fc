import { FaultsError } from './faults.js';

/**
 * The life of a process: start, wait for SIGTERM or SIGINT, stop in order. A second signal ends it at once. A
 * configuration fault is printed as it is; anything else that keeps it from starting is printed in one line.
 */
export async function runProcess(name: string, start: () => Promise<() => Promise<void>>): Promise<void> {
  let stop: () => Promise<void>;
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
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(1);
    stopping = true;
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
}
