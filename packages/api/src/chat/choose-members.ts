/**
 * Turns the entries of a route into the chain of one request. The choice follows from the request's id alone: every process
 * chooses the same, nothing is counted, and a request that is sent again goes where it went before. Requests whose prompts
 * begin alike have the digest of that beginning in the place of their ids.
 */
import { createHash } from 'node:crypto';
import { isGroup } from '@sluice/shared/contract/chain';
import type { ChainEntry, EntryGroup, RouteEntry } from '@sluice/shared/contract/route';
import { entryName } from '@sluice/shared/queue/rates';

/** A digest has 32 bytes: one number for each of at most eight members. */
const NUMBER_BYTES = 4;
const NUMBERS = 2 ** (8 * NUMBER_BYTES);

export function chooseMembers(chain: readonly RouteEntry[], requestId: string): ChainEntry[] {
  if (!chain.some(isGroup)) return chain as ChainEntry[];
  return chain.flatMap((entry, i) => (isGroup(entry) ? inTurn(entry, `${requestId} ${i}`) : [entry]));
}

/** The same for a prompt that begins like others. The member that served these last is the first of its group. */
export function chooseWarm(
  chain: readonly RouteEntry[],
  prefix: string,
  last: string | undefined,
): ChainEntry[] {
  return chain.flatMap((entry, i) => {
    if (!isGroup(entry)) return [entry];
    const members = inTurn(entry, `${prefix} ${i}`);
    const warm = members.findIndex(({ provider, model }) => entryName(provider, model) === last);
    return warm < 1 ? members : [...members.splice(warm, 1), ...members];
  });
}

/** The first has its weight's share of all requests. When it fails, those after it share its requests by their weights. */
function inTurn({ one_of }: EntryGroup, seed: string): ChainEntry[] {
  const digest = createHash('sha256').update(seed).digest();
  const left = [...one_of];
  return one_of.map((_, turn) => {
    const all = left.reduce((sum, { weight = 1 }) => sum + weight, 0);
    let at = (digest.readUInt32BE(turn * NUMBER_BYTES) / NUMBERS) * all;
    const found = left.findIndex(({ weight = 1 }) => {
      at -= weight;
      return at < 0;
    });
    const [{ weight: _weight, ...entry }] = left.splice(found, 1) as [EntryGroup['one_of'][number]];
    return entry;
  });
}
