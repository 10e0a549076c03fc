/** Pages of lists, as the official SDKs ask for them: `limit`, and `after` with the last id of the previous page. */
import { GatewayError } from '@sluice/shared/errors';
import type { OrderedIds } from '@sluice/shared/redis/ordered-ids';

/** Redis serves other requests between two reads. */
const READ_AT_ONCE = 500;

export interface PageRule {
  standard: number;
  most: number;
}

export interface PageQuery {
  limit?: unknown;
  after?: unknown;
}

export interface Page<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

export const EMPTY_PAGE: Page<never> = {
  object: 'list',
  data: [],
  first_id: null,
  last_id: null,
  has_more: false,
};

/** Reads only the items of the page, and the next one. `find` leaves out the items that are gone. */
export async function readPage<T extends { id: string }>(
  ids: Pick<OrderedIds, 'placeAfter' | 'read'>,
  find: (ids: string[]) => Promise<T[]>,
  { limit, after }: PageQuery,
  rule: PageRule,
): Promise<Page<T>> {
  const count = readLimit(limit, rule);
  const found: T[] = [];
  let place = after === undefined || after === '' ? 0 : await placeAfter(ids, after);
  while (found.length <= count) {
    const asked = Math.min(READ_AT_ONCE, count + 1 - found.length);
    const group = await ids.read(place, asked);
    if (group.length > 0) found.push(...(await find(group)));
    const last = group.at(-1);
    if (last === undefined || group.length < asked) break;
    // Other items may have come or gone meanwhile. If the last one has gone, those behind it have moved up.
    if (found.length <= count) place = (await ids.placeAfter(last)) ?? place + group.length - 1;
  }
  const data = found.slice(0, count);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > count,
  };
}

function readLimit(limit: unknown, { standard, most }: PageRule): number {
  const count = limit === undefined || limit === '' ? standard : Number(limit);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new GatewayError('invalid_request', `limit must be a whole number from 1 to ${most}.`, {
    param: 'limit',
  });
}

async function placeAfter(ids: Pick<OrderedIds, 'placeAfter'>, after: unknown): Promise<number> {
  const place = typeof after === 'string' ? await ids.placeAfter(after) : undefined;
  if (place !== undefined) return place;
  throw new GatewayError('invalid_request', 'after must be the id of an item of the list.', {
    param: 'after',
  });
}
