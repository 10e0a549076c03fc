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

/** Below this part of a limit, nobody counts: most requests are far from it, and are not to cost more. */
const NEAR = 0.5;
/** A provider that refuses calls below the limit per minute counts in less than a minute. */
const SHORT_MS = 1_000;

export interface Heard {
  /** The rest of the limits that hold for a minute. */
  left?: RatesLeft;
  /** A limit that nobody has set was announced with a refusal. */
  isAnnounced?: true;
}

export class HeardRates {
  readonly #windows = new RateWindows();
  readonly #failureLog: FailureLog;

  constructor(
    private readonly announced: Pick<AnnouncedLimits, 'note'>,
    logger: Logger,
  ) {
    this.#failureLog = new FailureLog(logger, { what: 'keeping the limits that providers announce' });
  }

  hear(
    config: Pick<ProviderConfig, 'limits' | 'keys'>,
    subject: RateSubject,
    said: SaidRates | undefined,
    failure: ProviderFailure | undefined,
  ): Heard | undefined {
    const { saidLimit } = failure ?? {};
    if (!said && !saidLimit) return undefined;
    const isRefused = failure?.outcome === 'rate_limited';
    const heard: Heard = {};
    const news: AnnouncedRates = {};
    for (const [type, named] of Object.entries(saidLimit ?? {}) as [BucketType, AnnouncedRate][])
      news[type] = isSet(config, subject, type) ? { ...named, windowMs: SHORT_MS } : named;
    for (const [type, rate] of Object.entries(said ?? {}) as [BucketType, SaidRate][]) {
      const windowMs = this.#windows.of(subject, type, rate);
      const { limit, remaining } = rate;
      if (windowMs === undefined) continue;
      if (!isShortWindow(windowMs) && (remaining > 0 || isRefused))
        heard.left = { ...heard.left, [type]: remaining };
      if (remaining >= NEAR * limit) continue;
      const isOperators = isSet(config, subject, type);
      if (isOperators && !isShortWindow(windowMs)) continue;
      news[type] = { limit, windowMs };
      if (isRefused && !isOperators) heard.isAnnounced = true;
    }
    if (Object.keys(news).length > 0) this.#note(subject, news);
    return heard;
  }

  #note(subject: RateSubject, rates: AnnouncedRates): void {
    this.announced.note(subject, rates).then(
      () => this.#failureLog.worked(),
      (error: unknown) => this.#failureLog.failed(error),
    );
  }
}
