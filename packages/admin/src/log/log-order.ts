/** The orders that requests are listed in, and places in them: where one page ends and the next begins. */
import type { SORTS } from '@sluice/shared/contract/query';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { durationOf } from './log-filter.js';

export interface LoggedRequest {
  /** The entry's id in the stream, which is its cursor. */
  id: string;
  entry: LogEntry;
}

export type Sort = (typeof SORTS)[number];

export interface Place {
  /** Milliseconds or picodollars. 0 when sorted by time. */
  value: number;
  /** The entry's id in the log's stream. */
  id: string;
}

export function sortValue(entry: LogEntry, sort: Sort): number {
  if (sort === 'time') return 0;
  return sort === 'cost' ? (entry.served?.cost ?? 0) : durationOf(entry);
}

export function placeOf({ id, entry }: LoggedRequest, sort: Sort): Place {
  return { value: sortValue(entry, sort), id };
}

export function toCursor({ value, id }: Place, sort: Sort): string {
  return sort === 'time' ? id : `${sort}:${value}:${id}`;
}

/** Undefined: it is a place in another order. */
export function parseCursor(text: string, sort: Sort): Place | undefined {
  const [order, value, id = ''] = text.includes(':') ? text.split(':') : ['time', '0', text];
  return order === sort ? { value: Number(value), id } : undefined;
}

/** Sorts the newest, longest or dearest first. Below 0 when `a` comes first. */
export function compare(a: Place, b: Place): number {
  return b.value - a.value || compareIds(b.id, a.id);
}

export function compareIds(a: string, b: string): number {
  const [aMs, aSequence] = a.split('-').map(Number);
  const [bMs, bSequence] = b.split('-').map(Number);
  return (aMs ?? 0) - (bMs ?? 0) || (aSequence ?? 0) - (bSequence ?? 0);
}
