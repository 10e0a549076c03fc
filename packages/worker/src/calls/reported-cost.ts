/** A cost that a provider reports with its answer (`cost: reported`), and whether it can be believed. */

/** Picodollars. Both are kept, whichever is booked. */
export interface ReportedCost {
  reported: number;
  /** By the price list. Absent when the list has no price for the call. */
  listed?: number;
  isBooked: boolean;
}

const PICODOLLARS_PER_USD = 1e12;
/**
 * A reported cost is far beyond the listed one when its unit is another: cents, or dollars for a million calls. A provider may
 * charge for more than tokens, such as for a search, so that a small call has some room.
 */
const MOST_TIMES_LISTED = 10;
const ROOM = 0.1 * PICODOLLARS_PER_USD;
/** The most that is believed of a call whose price nobody knows. */
const MOST_UNLISTED = 100 * PICODOLLARS_PER_USD;

/** Undefined for what is no amount at all. */
export function checkReported(usd: number, listed: number | undefined): ReportedCost | undefined {
  const reported = Math.round(usd * PICODOLLARS_PER_USD);
  if (!Number.isSafeInteger(reported)) return undefined;
  const most = listed === undefined ? MOST_UNLISTED : MOST_TIMES_LISTED * listed + ROOM;
  const isBooked = reported >= 0 && reported <= most;
  return { reported, isBooked, ...(listed === undefined ? {} : { listed }) };
}

export const REPORT_RESULTS = ['same', 'differs', 'unlisted', 'refused'] as const;

/** How a reported cost compares with the list, for the counter. A hundredth of it may be rounding. */
export function compareReported({
  reported,
  listed,
  isBooked,
}: ReportedCost): (typeof REPORT_RESULTS)[number] {
  if (!isBooked) return 'refused';
  if (listed === undefined) return 'unlisted';
  return Math.abs(reported - listed) <= listed / 100 ? 'same' : 'differs';
}
