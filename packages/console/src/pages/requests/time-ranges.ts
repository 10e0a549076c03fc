import type { PresentedRequest } from '@sluice/shared/admin-api';

/** A part of a request's time, in ms after it was accepted. */
export interface TimeRange {
  from: number;
  to: number;
}

/**
 * Where each attempt lies, and between them the waits. An entry of the log that does not say when an attempt began is from
 * an older version: the attempt then begins where the one before it ended.
 */
export function toTimeRanges({ attempts, queue_ms }: PresentedRequest): {
  ranges: TimeRange[];
  waits: TimeRange[];
} {
  const waits: TimeRange[] = [];
  let end = 0;
  const ranges = attempts.map(({ start_ms, ms = 0 }, i) => {
    const from = Math.max(end, start_ms ?? end + (i === 0 ? queue_ms : 0));
    if (from > end) waits.push({ from: end, to: from });
    end = from + ms;
    return { from, to: end };
  });
  if (attempts.length === 0 && queue_ms > 0) waits.push({ from: 0, to: queue_ms });
  return { ranges, waits };
}
