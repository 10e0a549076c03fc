/**
 * Watches Redis for the operator: whether Redis can do what the gateway needs, whether it is reachable, and whether its
 * settings can lose data. The watch has its own connection, so that it can report while everything else waits for Redis.
 */
import type { Redis } from 'ioredis';
import { isRedisAway } from '../redis/away.js';
import { connectPatiently, waitForRedis } from '../redis/redis.js';
import {
  explainForbidden,
  isForbidden,
  type RedisWorry,
  readServer,
  requireCapable,
  worriesOf,
} from '../redis/server.js';
import type { Logger } from './logger.js';
import { type RepeatedTask, repeatEvery } from './repeat-every.js';

const START_MS = 10_000;
const LOOK_EVERY_MS = 6_000;
/** While something is wrong, so that the end of it is soon known. */
const WORRIED_LOOK_EVERY_MS = 2_000;

export class RedisWatch {
  readonly #redis: Redis;
  #looking: RepeatedTask | undefined;
  #worries: RedisWorry[] = [];

  constructor(
    url: string,
    private readonly logger: Logger,
    private readonly mayEvict = false,
    private readonly startMs = START_MS,
  ) {
    this.#redis = connectPatiently(url);
  }

  get worries(): readonly RedisWorry[] {
    return this.#worries;
  }

  /** The worries that keep every process from its work. */
  problems(): string[] {
    return this.#worries.flatMap(({ stops, text }) => (stops ? [text] : []));
  }

  /** Checks Redis, then runs `start`. Throws a plain sentence when Redis is lost meanwhile. */
  async guardStart<T>(start: () => Promise<T>): Promise<T> {
    await waitForRedis(this.#redis, this.startMs);
    const started = await this.#unlessLost(this.#check().then(() => start()));
    this.#redis.on('reconnecting', () => this.#tellLost());
    this.#looking = repeatEvery(
      () => (this.#worries.length > 0 ? WORRIED_LOOK_EVERY_MS : LOOK_EVERY_MS),
      () => this.#look(),
    );
    return started;
  }

  close(): void {
    this.#looking?.stop();
    this.#redis.disconnect();
  }

  async #check(): Promise<void> {
    const facts = await requireCapable(this.#redis, this.mayEvict);
    const { product, version } = facts;
    this.logger.info({ product, version }, 'found Redis');
    this.#tell(worriesOf(facts));
  }

  async #unlessLost<T>(starting: Promise<T>): Promise<T> {
    const lost = new Error('Redis was lost during the start');
    let timer: NodeJS.Timeout | undefined;
    const away = new Promise<never>((_, reject) => {
      this.#redis.on('close', () => {
        timer ??= setTimeout(() => reject(lost), this.startMs);
      });
      this.#redis.on('ready', () => {
        clearTimeout(timer);
        timer = undefined;
      });
    });
    try {
      return await Promise.race([starting, away]);
    } catch (error) {
      // The error of a part that gave up first says only that its connection is closed.
      if (this.#redis.status !== 'ready') throw lost;
      if (isForbidden(error)) throw new Error(explainForbidden(error));
      if (!isRedisAway(error)) throw error;
      const isAnswer = error instanceof Error && error.name === 'ReplyError';
      throw isAnswer ? new Error(`Redis refuses to work: ${error.message}`) : lost;
    } finally {
      clearTimeout(timer);
      this.#redis.removeAllListeners('close');
      this.#redis.removeAllListeners('ready');
    }
  }

  #isLost = false;
  #tellLost(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.logger.error('Redis is lost: requests wait or are refused until it is back');
    this.#redis.once('ready', () => {
      this.#isLost = false;
      this.logger.info('Redis is back');
    });
  }

  async #look(): Promise<void> {
    this.#tell(worriesOf(await readServer(this.#redis)));
  }

  #tell(worries: RedisWorry[]): void {
    const isNew = (worry: RedisWorry) => this.#worries.every(({ text }) => text !== worry.text);
    for (const { reason, text } of worries.filter(isNew)) this.logger.warn({ reason }, text);
    for (const { reason } of this.#worries)
      if (worries.every((worry) => worry.reason !== reason))
        this.logger.info({ reason }, 'Redis is as it should be again');
    this.#worries = worries;
  }
}
