import type { Grant } from '@sluice/shared/config/gateway-config';

const MAX_GROUPS = 1_000;
const MAX_NAME = 256;

/** The rights of somebody in these groups. Groups that gateway.yaml does not name give nothing. */
export function grantsOf(groups: readonly string[], known: ReadonlyMap<string, Grant>): Grant[] {
  return [...new Set(groups.slice(0, MAX_GROUPS))].flatMap((group) => known.get(group) ?? []);
}

/** A name from outside, fit for lists and logs. */
export function cleanName(text: string): string {
  return text.replaceAll(/\p{C}/gu, '').trim().slice(0, MAX_NAME);
}
