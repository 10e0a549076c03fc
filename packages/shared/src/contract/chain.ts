/** The entries of a route, among which may be groups. */
import type { ChainEntry, GroupMember, RouteEntry } from './route.js';

export function isGroup<E extends object>(entry: E): entry is Extract<E, { one_of: unknown }> {
  return 'one_of' in entry;
}

/** All entries and members in the order in which they are written. */
export function entriesOf(chain: readonly RouteEntry[]): GroupMember[] {
  return chain.flatMap(membersOf);
}

/** The entries and members with the place of each after that of the chain: `[0]`, `[1].one_of[0]`. */
export function placedEntries(chain: readonly RouteEntry[]): [place: string, entry: ChainEntry][] {
  return chain.flatMap((entry, i): [string, ChainEntry][] =>
    isGroup(entry) ? entry.one_of.map((member, j) => [`[${i}].one_of[${j}]`, member]) : [[`[${i}]`, entry]],
  );
}

/** Every step that a request may take along the chain, from one model to the next. */
export function movesOf(chain: readonly RouteEntry[]): [from: ChainEntry, to: ChainEntry][] {
  return chain.flatMap((entry, i) => {
    const members = membersOf(entry);
    const next = chain[i + 1];
    const after = next ? membersOf(next) : [];
    return members.flatMap((from) =>
      [...members.filter((each) => each !== from), ...after].map((to): [ChainEntry, ChainEntry] => [
        from,
        to,
      ]),
    );
  });
}

function membersOf(entry: RouteEntry): GroupMember[] {
  return isGroup(entry) ? entry.one_of : [entry];
}

/** Whether the entry is for a request with these attempts: one with `when` is only for those that ended so somewhere. */
export function isMeant(
  { when }: Pick<ChainEntry, 'when'>,
  attempts: readonly { outcome: string }[],
): boolean {
  return when === undefined || attempts.some(({ outcome }) => outcome === when);
}
