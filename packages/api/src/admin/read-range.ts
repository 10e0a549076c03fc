import type { ConfigReader } from '@sluice/shared/config/reader';
import { readMoment } from './read-moment.js';

const DEFAULT_MS = 15 * 60_000;
const MIN_MS = 60_000;
const MAX_MS = 24 * 3_600_000;

/** Reads the beginning of a time that ends now: from a minute to a day ago, 15 minutes by default. */
export function readRange(reader: ConfigReader, value: unknown, now: number): number {
  const moment = readMoment(reader, value, 'since', now) ?? now - DEFAULT_MS;
  if (!(now - moment >= MIN_MS && now - moment <= MAX_MS))
    reader.mistake('since', 'must be from a minute to a day ago');
  return moment;
}
