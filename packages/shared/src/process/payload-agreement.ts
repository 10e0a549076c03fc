/**
 * Api and worker processes read what the other writes, so each has to hold the key that the other encrypts with. A process
 * that starts with a key that does not fit would fail every request that it gets a hold of. It does not start instead.
 */
import { FORGOTTEN_AFTER_MS, type Presence, type ProcessInfo } from './presence.js';

const LOOK_AGAIN_MS = 500;
/** A process that was killed counts as alive for a while. */
const PATIENCE_MS = FORGOTTEN_AFTER_MS + 1_000;

type Party = Pick<ProcessInfo, 'role' | 'payload'>;

/** Throws when this process, which has announced itself, and one that is alive cannot read each other's payloads. */
export async function requirePayloadAgreement(presence: Presence, patienceMs = PATIENCE_MS): Promise<void> {
  for (const end = performance.now() + patienceMs; ; ) {
    const stranger = findStranger(presence.self, await presence.alive());
    if (!stranger) return;
    if (performance.now() >= end) {
      await presence.leave();
      throw new Error(describeStranger(presence.self, stranger));
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

/** One of those with whom `self` cannot exchange payloads. */
export function findStranger<Other extends Party>(self: Party, others: readonly Other[]): Other | undefined {
  return others.find((other) => other.role !== self.role && !(canRead(self, other) && canRead(other, self)));
}

/** A process of a version that does not announce its keys is not judged. */
function canRead(reader: Party, writer: Party): boolean {
  if (!reader.payload || !writer.payload || writer.payload.encrypts === null) return true;
  return reader.payload.holds.includes(writer.payload.encrypts);
}

function describeStranger(self: Party, other: ProcessInfo): string {
  const place = `${other.role} ${other.id} (${other.host}, pid ${other.pid})`;
  const [reader, writer] = canRead(self, other) ? [place, 'this process'] : ['this process', place];
  const key = (canRead(self, other) ? self : other).payload?.encrypts;
  return `PAYLOAD_KEY does not fit: ${writer} encrypts with key ${key}, which ${reader} does not hold. Give every process the new key before one encrypts with it (docs/operating.md, Payload keys)`;
}
