/** The log of a process: JSON lines in blocks, or text for a terminal. Its only state is the text of the latest millisecond. */
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';

export type { DestinationStream, Logger };

const FLUSH_MS = 250;
/** The most bytes of lines that wait to be written. Further lines are dropped. */
const MAX_HELD_BYTES = 16 * 2 ** 20;

/** Resolves when everything that was logged so far is written. */
export function flushed(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}

/**
 * A function that logs lines with this message at level `info`. Its argument is the fields in JSON, each with a comma in front.
 * pino looks at every field of a line by its name, and a busy process logs one for each request.
 */
export function createLineLogger(logger: Logger, message: string): (fields: string) => void {
  const parts = logger as unknown as Record<symbol, unknown>;
  const { streamSym, timeSym, lsCacheSym, chindingsSym } = pino.symbols as unknown as Record<string, symbol>;
  const of = (symbol: symbol | undefined) => parts[symbol as symbol];
  const stream = of(streamSym) as DestinationStream;
  const time = of(timeSym) as () => string;
  const start = (of(lsCacheSym) as Record<number, string>)[pino.levels.values.info as number];
  const bindings = of(chindingsSym) as string;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  return (fields) => {
    if (logger.isLevelEnabled('info')) stream.write(start + time() + bindings + fields + end);
  };
}

let latest = { second: -1, field: '' };

/** The latest second is kept, because a date takes longer than the rest of a line. */
function timestamp(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== latest.second)
    latest = { second, field: `,"time":"${new Date(1000 * second).toISOString().slice(0, -'000Z'.length)}` };
  return `${latest.field}${String(now - 1000 * second).padStart(3, '0')}Z"`;
}

/**
 * One JSON line per event, or readable text on a terminal. Each call chooses the fields that it logs. It never logs a
 * whole request or error object, which may carry a prompt or a key.
 */
export function createLogger(role: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { role, pid: process.pid },
    // The caller was told the id in this form, so a search for it finds the line.
    serializers: { requestId: (id: string) => `req_${id}` },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp,
  };
  if (destination) return pino(options, destination);
  // Lines are written in blocks, because a system call costs more than a line. The rest is written at exit.
  if (!process.stdout.isTTY)
    return pino(
      options,
      flushWhenWritten(pino.destination({ sync: false, minLength: 16_000, maxLength: MAX_HELD_BYTES })),
    );
  const { formatters: _, ...forTerminal } = options;
  return pino({
    ...forTerminal,
    transport: { target: 'pino-pretty', options: { ignore: 'hostname,pid', singleLine: true } },
  });
}

/** The stream's own `periodicFlush` wakes a process four times a second, and a thread of it, when there is nothing to write. */
function flushWhenWritten<Destination extends DestinationStream & { flush(): void }>(
  destination: Destination,
): Destination {
  const write = destination.write.bind(destination);
  let isDue = false;
  const flush = () => {
    isDue = false;
    destination.flush();
  };
  destination.write = (line) => {
    if (!isDue) setTimeout(flush, FLUSH_MS).unref();
    isDue = true;
    return write(line);
  };
  return destination;
}

/** BullMQ and ioredis print theirs as plain text, for each connection. From now on each is one line of the log. */
export function logWarningsOfLibraries(logger: Logger): void {
  const told = new Set<string>();
  console.warn = (text: unknown) => {
    // The watch of Redis has told it in its own words.
    if (typeof text !== 'string' || told.has(text) || text.startsWith('IMPORTANT! Eviction policy')) return;
    told.add(text);
    logger.warn(text);
  };
}
