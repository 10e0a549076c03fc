import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

export type { Logger };

/**
 * One JSON line per event, or readable text on a terminal. What is logged is chosen field by field where it is
 * logged: never a request's or an error's whole object, which may carry a prompt or a key.
 */
export function createLogger(role: string, level: string, destination?: DestinationStream): Logger {
  const options = { level, base: { role, pid: process.pid } };
  if (destination) return pino(options, destination);
  if (!process.stdout.isTTY) return pino(options);
  return pino({ ...options, transport: { target: 'pino-pretty', options: { ignore: 'hostname,pid' } } });
}
