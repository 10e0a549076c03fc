/**
 * Hears what providers say about their limits, in headers and in refusals. What is used up soon, and nobody has set, holds from
 * then on for the whole cell.
 */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { FailureLog } from '@sluice/shared/process/failure-log';
import type { Logger } from '@sluice/shared/process/logger';
import {
  type AnnouncedLimits,
  type AnnouncedRate,
  type AnnouncedRates,
  isShortWindow,
  type RateSubject,
} from '@sluice/shared/queue/announced-limits';
import type { FoundRates, Learned, RefusedCall } from '@sluice/shared/queue/found-rates';
import { type BucketType, isSet, type RatesLeft } from '@sluice/shared/queue/rates';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { SaidRate, SaidRates } from '../providers/rate-headers.js';
import type { ProviderFailure } from '../providers/types.js';
import { RateWindows } from './rate-windows.js';

/** While more than this part of a limit is left, nobody counts: those requests are not to cost more. */
const FAR = 0.95;
const MINUTE_MS = 60_000;

export interface Heard {
  /** The rest of the limits that hold for a minute. */
  left?: RatesLeft;
  /** The call was refused for a limit that is known from now on. It may wait for that. */
  isKnown?: true;
}

type Amounts = Readonly<Record<BucketType, number>>;

export class HeardRates {
  readonly #windows = new RateWindows();
  readonly #failureLog: FailureLog;

  constructor(
    private readonly announced: Pick<AnnouncedLimits, 'note' | 'of'>,
    private readonly found: Pick<FoundRates, 'begin' | 'refused'> | undefined,
    logger: Logger,
  ) {
    this.#failureLog = new FailureLog(logger, { what: 'keeping the limits that providers announce' });
  }

  /** The headers of an answer. */
  hear(
    config: Pick<ProviderConfig, 'limits' | 'keys'>,
    subject: RateSubject,
    said: SaidRates,
    failure: ProviderFailure | undefined,
  ): Heard {
    const isRefused = failure?.outcome === 'rate_limited';
    const heard: Heard = {};
    const news: AnnouncedRates = {};
    const known = this.announced.of(...subject);
    for (const [type, rate] of Object.entries(said) as [BucketType, SaidRate][]) {
      const windowMs = this.#windows.of(subject, type, rate);
      const { limit, remaining } = rate;
      if (windowMs === undefined) continue;
      if (!isShortWindow(windowMs) && (remaining > 0 || isRefused))
        heard.left = { ...heard.left, [type]: [remaining, limit] };
      const isFar = remaining >= FAR * limit;
      if (isFar && !known?.[type]) continue;
      const isOperators = isSet(config, subject, type);
      if (isOperators && !isShortWindow(windowMs)) continue;
      news[type] = { limit, windowMs };
      // Of which much is left, it is not what the call was refused for.
      if (isRefused && !isOperators && !isFar) heard.isKnown = true;
    }
    if (Object.keys(news).length > 0) this.#note(subject, news, known, said, isRefused);
    return heard;
  }

  /**
   * A call was refused for a limit in a time. Undefined: headers tell of the limit, or it is about something else. What Redis does
   * not take now is not learned.
   */
  async refused(
    subject: RateSubject,
    said: SaidRates | undefined,
    failure: ProviderFailure,
    call: Omit<RefusedCall, 'named' | 'toldMs' | 'amount'> & { amounts: Amounts },
  ): Promise<Learned | undefined> {
    const { amounts, ...rest } = call;
    if (!this.found) return undefined;
    const limit = this.#limitOf(subject, said, failure, amounts);
    if (!limit) return undefined;
    const { type, named } = limit;
    try {
      const toldMs = failure.retryAfterMs ?? 0;
      return await this.found.refused(subject, type, { ...rest, amount: amounts[type], named, toldMs });
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      return undefined;
    }
  }

  /** Which limit a refusal is about, and what is said of it, per minute. A minute that is used up in the headers is known there. */
  #limitOf(
    subject: RateSubject,
    said: SaidRates = {},
    { saidLimit, said: words = '' }: ProviderFailure,
    amounts: Amounts,
  ): { type: BucketType; named?: number | undefined } | undefined {
    const [inWords] = Object.entries(saidLimit ?? {}) as [BucketType, AnnouncedRate][];
    const inHeaders = Object.entries(said) as [BucketType, SaidRate][];
    const spent = inHeaders.find(
      ([type, { remaining }]) => remaining < amounts[type] && (!inWords || inWords[0] === type),
    );
    if (spent) {
      const [type, rate] = spent;
      const windowMs = this.#windows.of(subject, type, rate);
      if (windowMs === undefined || !isShortWindow(windowMs)) return undefined;
      return { type, named: (rate.limit * MINUTE_MS) / windowMs };
    }
    if (inWords) return { type: inWords[0], named: (inWords[1].limit * MINUTE_MS) / inWords[1].windowMs };
    if (inHeaders.length > 0) return undefined;
    return { type: /\btokens?\b/i.test(words) ? 't' : 'r' };
  }

  #note(
    subject: RateSubject,
    rates: AnnouncedRates,
    known: AnnouncedRates | undefined,
    said: SaidRates,
    isRefused: boolean,
  ): void {
    const used: Partial<Record<BucketType, number>> = {};
    const begun: (Promise<void> | undefined)[] = [];
    for (const [type, { limit, windowMs }] of Object.entries(rates) as [BucketType, AnnouncedRate][]) {
      const { remaining = limit } = said[type] ?? {};
      used[type] = (limit - remaining) / limit;
      // Redis fills a new window before it counts the first call in it. One that is used up and refuses nothing is no window.
      if (!known?.[type] && !isShortWindow(windowMs) && (remaining > 0 || isRefused))
        begun.push(this.found?.begin(subject, type, limit - remaining));
    }
    Promise.all([...begun, this.announced.note(subject, rates, used)]).then(
      () => this.#failureLog.worked(),
      (error: unknown) => this.#failureLog.failed(error),
    );
  }
}
