import { GatewayError } from '@sluice/shared/errors';
import { findExcess, type JsonLimits, type MemberSearch } from '@sluice/shared/json/measure';
import { containerAt } from './json-path.js';

const EXCESS: Record<keyof JsonLimits, (limit: number) => string> = {
  depth: (limit) => `The body is nested more than ${limit} levels deep.`,
  keys: (limit) => `The body has more than ${limit} keys in its objects.`,
  elements: (limit) => `The body has more than ${limit} elements in its arrays.`,
};

/** Throws `invalid_request` for a body whose structure is larger than it may be. It is not parsed for that. */
export function refuseExcess(text: string, limits: JsonLimits, search?: MemberSearch): void {
  const excess = findExcess(text, limits, search);
  if (!excess) return;
  throw new GatewayError('invalid_request', EXCESS[excess.limit](limits[excess.limit]), {
    param: containerAt(text, excess.offset),
  });
}
