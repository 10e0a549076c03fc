/** Hears what providers say about their limits. What is used up soon, and nobody has set, holds from then on for the whole cell. */
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
import { type BucketType, isSet, type RatesLeft } from '@sluice/shared/queue/rates';
import type { SaidRate, SaidRates } from '../providers/rate-headers.js';
import type { ProviderFailure } from '../providers/types.js';
import { RateWindows } from './rate-windows.js';

/** While more than this part of a limit is left, nobody counts: those requests are not to cost more. */
const FAR = 0.9;
/** A provider that refuses calls below the limit per minute counts in less than a minute. */
const SHORT_MS = 1_000;
const MINUTE_MS = 60_000;

export interface Heard {
  /** The rest of the limits that hold for a minute. */
  left?: RatesLeft;
  /** The call was refused for a limit that is known from now on. It may wait for that. */
  isKnown?: true;
}

export class HeardRates {
  readonly #windows = new RateWindows();
  readonly #failureLog: FailureLog;

  constructor(
    private readonly announced: Pick<AnnouncedLimits, 'note' | 'of'>,
    logger: Logger,
  ) {
    this.#failureLog = new FailureLog(logger, { what: 'keeping the limits that providers announce' });
  }

  /** `isCounted`: the call had a reservation under limits per minute. */
  hear(
    config: Pick<ProviderConfig, 'limits' | 'keys'>,
    subject: RateSubject,
    said: SaidRates | undefined,
    failure: ProviderFailure | undefined,
    isCounted: boolean,
  ): Heard | undefined {
    const { saidLimit } = failure ?? {};
    if (!said && !saidLimit) return undefined;
    const isRefused = failure?.outcome === 'rate_limited';
    const heard: Heard = {};
    const news: AnnouncedRates = {};
    for (const [type, named] of Object.entries(saidLimit ?? {}) as [BucketType, AnnouncedRate][]) {
      const isKnown = this.#knows(subject, type);
      // A call that nobody counted says nothing about a limit that is known.
      if (isKnown && !isCounted) continue;
      const isBelow = isCounted && (isKnown || isSet(config, subject, type));
      // Requests are kept in seconds somewhere. Of tokens, others may have used more than is known here: nothing is left.
      const isSpaced = isBelow && type === 'r';
      news[type] = isSpaced ? inSeconds(named) : named;
      if (isBelow && !isSpaced) heard.left = { ...heard.left, [type]: 0 };
      if (isBelow) heard.isKnown = true;
    }
    for (const [type, rate] of Object.entries(said ?? {}) as [BucketType, SaidRate][]) {
      const windowMs = this.#windows.of(subject, type, rate);
      const { limit, remaining } = rate;
      if (windowMs === undefined) continue;
      if (!isShortWindow(windowMs) && (remaining > 0 || isRefused))
        heard.left = { ...heard.left, [type]: remaining };
      if (remaining >= FAR * limit) continue;
      const isOperators = isSet(config, subject, type);
      if (isOperators && !isShortWindow(windowMs)) continue;
      news[type] = { limit, windowMs };
      if (isRefused && !isOperators) heard.isKnown = true;
    }
    if (Object.keys(news).length > 0) this.#note(subject, news);
    return heard;
  }

  #knows(subject: RateSubject, type: BucketType): boolean {
    return this.announced.of(...subject)?.[type] !== undefined;
  }

  #note(subject: RateSubject, rates: AnnouncedRates): void {
    this.announced.note(subject, rates).then(
      () => this.#failureLog.worked(),
      (error: unknown) => this.#failureLog.failed(error),
    );
  }
}

/** The same limit, kept in each second. */
function inSeconds({ limit, windowMs }: AnnouncedRate): AnnouncedRate {
  return {
    limit: Math.max(1, Math.floor((limit * SHORT_MS) / (isShortWindow(windowMs) ? windowMs : MINUTE_MS))),
    windowMs: SHORT_MS,
  };
}
