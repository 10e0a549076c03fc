/**
 * Turns the entries of a route into the chain of one request. The choice follows from the request's id alone: every process
 * chooses the same, nothing is counted, and a request that is sent again goes where it went before.
 */
import { createHash } from 'node:crypto';
import { isGroup } from '@sluice/shared/contract/chain';
import type { ChainEntry, EntryGroup, RouteEntry } from '@sluice/shared/contract/route';

/** A digest has 32 bytes: one number for each of at most eight members. */
const NUMBER_BYTES = 4;
const NUMBERS = 2 ** (8 * NUMBER_BYTES);

export function chooseMembers(chain: readonly RouteEntry[], requestId: string): ChainEntry[] {
  if (!chain.some(isGroup)) return chain as ChainEntry[];
  return chain.flatMap((entry, i) => (isGroup(entry) ? inTurn(entry, `${requestId} ${i}`) : [entry]));
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
