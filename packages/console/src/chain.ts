import type { EntryGroup, GroupMember, RouteEntry } from '@sluice/shared/admin-api';

export function isGroup(entry: RouteEntry): entry is EntryGroup {
  return 'one_of' in entry;
}

/** All entries of a route, and the members of its groups, in order. */
export function entriesOf(chain: readonly RouteEntry[]): GroupMember[] {
  return chain.flatMap((entry) => (isGroup(entry) ? entry.one_of : [entry]));
}
