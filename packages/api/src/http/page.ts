/** Pages of lists, as the official SDKs ask for them: `limit`, and `after` with the last id of the previous page. */
import { GatewayError } from '@sluice/shared/errors';

export interface PageRule {
  standard: number;
  most: number;
}

export interface Page<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** `items` must be in the order of the list. */
export function toPage<T extends { id: string }>(
  items: readonly T[],
  { limit, after }: { limit?: unknown; after?: unknown },
  { standard, most }: PageRule,
): Page<T> {
  const count = limit === undefined || limit === '' ? standard : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > most)
    throw new GatewayError('invalid_request', `limit must be a whole number from 1 to ${most}.`, {
      param: 'limit',
    });
  let from = 0;
  if (after !== undefined && after !== '') {
    from = items.findIndex(({ id }) => id === after) + 1;
    if (from === 0)
      throw new GatewayError('invalid_request', 'after must be the id of an item of the list.', {
        param: 'after',
      });
  }
  const data = items.slice(from, from + count);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + count < items.length,
  };
}
