/**
 * The connections to Redis. A connection is chosen by what a failed command means to its user: wait, fail soon, or read again.
 * `silenceMs` is for the whole process. Only tests change it, and only connections that are made later follow it.
 */
import type { Socket } from 'node:net';
import { type Command, Redis, type RedisOptions } from 'ioredis';
import { requireReadable, sentinelOptions } from './address.js';
import { CommandTimeout } from './away.js';
import { connectToCluster, readClusterAddress } from './cluster.js';

/** The first retries are quick, so that a restarted Redis is used again at once. Later ones come once a second. */
const retryStrategy = (times: number): number => Math.min(50 * times, 1000);

/** How long a command may block. One that blocks as long as `socketTimeout` would never get its reply. */
export const BLOCK_MS = 2_000;

const SILENCE_MS = 5_000;
let silenceMs = SILENCE_MS;

/** From now on a new connection is given up after this long. For tests on a machine that stops for a while. */
export function giveUpSilentAfter(ms = SILENCE_MS): void {
  silenceMs = ms;
}

const common: RedisOptions = {
  retryStrategy,
  enableReadyCheck: true,
  // The users of deploy/redis/users.acl may not name their client's library: Redis 7.0 does not know the command.
  disableClientInfo: true,
  reconnectOnError: (error) => (isElsewhere(error) ? 2 : false),
};

/**
 * The primary is another server now: the old one is a replica after a failover, or a Cluster has moved the slot of the cell. The
 * command did not run. The client connects to the new primary and sends the command again.
 */
function isElsewhere({ message }: Error): boolean {
  return /^(?:READONLY|MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test(message);
}

/**
 * For work that must not be lost. A command waits for Redis as long as it takes, and is sent again after a reconnect. So
 * every script that uses this connection must be repeatable.
 */
export function connectPatiently(url: string): Redis {
  return connect(url, { maxRetriesPerRequest: null });
}

/** For continuous reading. A command on a lost connection fails. It is not sent again on the next connection. */
export function connectToRead(url: string): Redis {
  return connect(url, {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: isElsewhere,
  });
}

/**
 * For answering callers. While Redis is away a command fails at once. `giveUpAfter` bounds slow commands, too. No command is
 * sent again: the request of a refused caller must not appear after the reconnect.
 */
export function connectImpatiently(url: string): Redis {
  return connect(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  });
}

/** The commands that one tick of the event loop has sent. They leave together, at its end (`writeByTick`). */
interface Tick {
  /** By `performance.now()`. */
  leftAt: number;
}

/** The commands of an ioredis connection that have no reply yet. */
interface CommandQueue {
  length: number;
  peekAt(index: number): { command: Timed } | undefined;
}

interface Timed extends Command {
  tick?: Tick;
}

/**
 * From now on, a slow command fails. Like ioredis's `commandTimeout`, but with one timer for all commands, and correct when this process itself was slow. After
 * a busy stretch timers fire before sockets are read, so a reply that has long arrived would count as missing.
 */
export function giveUpAfter(timeoutMs: number, redis: Redis): void {
  const connection = redis as unknown as { commandQueue: CommandQueue };
  let tick: Tick | undefined;
  let timer: NodeJS.Timeout | undefined;
  let due = 0;

  // Redis answers in order, so the first command has waited longest. One that was given up stays until its reply comes.
  const check = () => {
    timer = undefined;
    const now = performance.now();
    // This process was stopped. The whole machine may have been, and Redis with it. So Redis gets its full time again.
    if (now - due > timeoutMs / 2) return wait(timeoutMs);
    const { commandQueue } = connection;
    for (let i = 0; i < commandQueue.length; i++) {
      const command = commandQueue.peekAt(i)?.command;
      // A command of this very tick has not left yet.
      const waited = Math.max(0, now - (command?.tick?.leftAt ?? now));
      if (waited < timeoutMs) return wait(timeoutMs - waited);
      command?.reject(new CommandTimeout(timeoutMs));
    }
  };
  // Sockets are read between a timer and the immediate that it sets.
  const wait = (ms: number) => {
    if (timer) return;
    due = performance.now() + ms;
    timer = setTimeout(() => setImmediate(check), ms).unref();
  };
  const leave = () => {
    if (tick) tick.leftAt = performance.now();
    tick = undefined;
    wait(timeoutMs);
  };
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    if (!tick) {
      tick = { leftAt: Number.POSITIVE_INFINITY };
      setImmediate(leave);
    }
    (command as Timed).tick = tick;
    return send(command, stream);
  };
}

function connect(url: string, own: RedisOptions): Redis {
  // A connection may go silent without being closed (a pulled cable, a firewall that forgot it). It is given up when a
  // command has waited this long for any byte. No command blocks as long, and Redis does not pause as long.
  const options = { ...common, connectTimeout: silenceMs, socketTimeout: silenceMs, ...own };
  const redis = open(url, options);
  // Without a listener ioredis prints every failed reconnect. The processes report the state themselves.
  redis.on('error', () => {});
  redis.on('connect', () => writeByTick(streamOf(redis)));
  // ioredis subscribes again after a reconnect. When the connection is closed meanwhile, nobody would hear that this has failed,
  // and the process would end.
  const subscribe = redis.subscribe.bind(redis) as (...channels: string[]) => Promise<unknown>;
  redis.subscribe = ((...channels: string[]) => {
    const subscribed = subscribe(...channels);
    subscribed.catch(() => {});
    return subscribed;
  }) as Redis['subscribe'];
  return redis;
}

function open(url: string, options: RedisOptions): Redis {
  const cluster = readClusterAddress(url);
  if (cluster) return connectToCluster(cluster, options);
  requireReadable(url);
  const sentinel = sentinelOptions(url);
  return sentinel ? new Redis({ ...options, ...sentinel }) : new Redis(url, options);
}

function streamOf(redis: Redis): Socket {
  return (redis as unknown as { stream: Socket }).stream;
}

/** Sends all commands of one tick of the event loop in one system call, and their texts as one text, which costs less than a list. */
function writeByTick(stream: Socket): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  const end = stream.end.bind(stream) as (...args: unknown[]) => Socket;
  let text = '';
  const writeText = () => {
    if (text !== '') write(text);
    text = '';
  };
  let isWaiting = false;
  const leave = () => {
    isWaiting = false;
    writeText();
    stream.uncork();
  };
  stream.write = (...args: unknown[]) => {
    if (!isWaiting) setImmediate(leave);
    isWaiting = true;
    if (args.length === 1 && typeof args[0] === 'string') {
      text += args[0];
      return true;
    }
    // Bytes, such as a large request. They are not copied.
    if (stream.writableCorked === 0) stream.cork();
    writeText();
    return write(...args);
  };
  stream.end = (...args: unknown[]) => {
    writeText();
    return end(...args);
  };
}

/** Resolves when the connection is usable, and rejects with a plain sentence when it does not come in time. */
export async function waitForRedis(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  let refusal: string | undefined;
  let lastError: Error | undefined;
  const remember = (error: Error) => {
    lastError = error;
    if (error.name === 'ReplyError') refusal = error.message;
  };
  // ioredis drops what Redis says before it closes a connection that it does not want.
  const listen = () =>
    streamOf(redis).once('data', (data: Buffer) => {
      refusal = readRefusal(data) ?? refusal;
    });
  redis.on('error', remember);
  redis.on('connect', listen);
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        redis.off('ready', ready);
        reject(
          new Error(
            refusal === undefined
              ? `Redis did not answer within ${timeoutMs} ms${explain(lastError, redis.options.tls !== undefined)}`
              : `Redis refuses the connection: ${refusal}`,
          ),
        );
      }, timeoutMs);
      const ready = () => {
        clearTimeout(timer);
        resolve();
      };
      redis.once('ready', ready);
    });
  } finally {
    redis.off('error', remember);
    redis.off('connect', listen);
  }
}

function explain(error: Error | undefined, isTls: boolean): string {
  if (!error) return '';
  const { message } = error;
  if (message.includes('No such master')) return ': the Sentinels do not know the name in REDIS_URL';
  if (message.includes('RESP type')) return ': what answers at REDIS_URL is no Redis';
  if (isTls) return ` (${message}). REDIS_URL begins with rediss, so it has to speak TLS`;
  const isReset = message.includes('ECONNRESET');
  return ` (${message})${isReset ? '. If it speaks TLS, REDIS_URL begins with rediss' : ''}`;
}

/** The first words of an error that is Redis' first reply. Protected mode says a whole page. */
function readRefusal(data: Buffer): string | undefined {
  return /^-([A-Z]+ .{1,180}(?:\.|$))/m.exec(data.toString('utf8', 0, 400))?.[1];
}

/** Resolves when all of them are usable. When one does not come in time, none is left open. */
export async function waitForAll(connections: readonly Redis[], timeoutMs: number): Promise<void> {
  try {
    await Promise.all(connections.map((connection) => waitForRedis(connection, timeoutMs)));
  } catch (error) {
    for (const connection of connections) connection.disconnect();
    throw error;
  }
}
