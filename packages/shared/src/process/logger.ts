import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

export type { Logger };

const FLUSH_MS = 250;
/** Of lines that nobody takes off our hands; further ones are dropped. */
const MAX_HELD_BYTES = 16 * 2 ** 20;

/** Resolves when everything that was logged so far is written. */
export function flushed(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}

/**
 * One JSON line per event, or readable text on a terminal. What is logged is chosen field by field where it is
 * logged: never a request's or an error's whole object, which may carry a prompt or a key.
 */
export function createLogger(role: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { role, pid: process.pid },
    // As the caller was told it, so that a search for that text finds it.
    serializers: { requestId: (id: string) => `req_${id}` },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  if (destination) return pino(options, destination);
  // Written in blocks: a system call per line would cost more than the line. What is left is written at exit.
  if (!process.stdout.isTTY)
    return pino(
      options,
      pino.destination({
        sync: false,
        minLength: 16_000,
        maxLength: MAX_HELD_BYTES,
        periodicFlush: FLUSH_MS,
      }),
    );
  const { formatters: _, ...forTerminal } = options;
  return pino({
    ...forTerminal,
    transport: { target: 'pino-pretty', options: { ignore: 'hostname,pid', singleLine: true } },
  });
}
