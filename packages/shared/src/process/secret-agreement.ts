/**
 * Processes that share a Redis read what the others write, so each has to hold the keys that the others write with. Api and
 * worker processes need the payload keys, api processes also need the pepper. A process with other keys would fail the
 * requests that it takes, so it refuses to start.
 */
import { FORGOTTEN_AFTER_MS, type Presence, type ProcessInfo } from './presence.js';
import type { SecretKeyIds } from './secret-keys.js';

const LOOK_AGAIN_MS = 500;
/** A killed process counts as alive for a while, so the check is patient. */
const PATIENCE_MS = FORGOTTEN_AFTER_MS + 1_000;

type Party = Presence['self'];

/** Throws when this process and another live one cannot read each other. This process must have announced itself. */
export async function requireSecretAgreement(presence: Presence): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    const misfit = findMisfit(presence.self, await presence.alive());
    if (misfit === undefined) return;
    if (performance.now() >= end) {
      await presence.leave();
      throw new Error(misfit);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

function findMisfit(self: Party, others: readonly ProcessInfo[]): string | undefined {
  for (const other of others) {
    const payloads = self.role === other.role ? undefined : unread(self, other, 'payload');
    if (payloads !== undefined) return `PAYLOAD_KEY does not fit: ${payloads}`;
    const keys = self.role === 'api' && other.role === 'api' ? unread(self, other, 'pepper') : undefined;
    if (keys !== undefined) return `KEY_PEPPER does not fit: ${keys}`;
  }
  return undefined;
}

/** Says which key one of the two processes writes with and the other lacks. */
function unread(self: Party, other: Party, secret: 'payload' | 'pepper'): string | undefined {
  const place = `${other.role} ${other.id} (${other.host}, pid ${other.pid})`;
  const ours = missing(other[secret], self[secret]);
  if (ours !== undefined) return sentence('this process', ours, place);
  const theirs = missing(self[secret], other[secret]);
  return theirs === undefined ? undefined : sentence(place, theirs, 'this process');
}

/** A process of an older version does not announce its keys, and counts as fitting. */
function missing(reader: SecretKeyIds | undefined, writer: SecretKeyIds | undefined): string | undefined {
  if (!reader || !writer || writer.writes === null || reader.holds.includes(writer.writes)) return undefined;
  return writer.writes;
}

function sentence(writer: string, id: string, reader: string): string {
  return `${writer} writes with key ${id}, which ${reader} does not hold. Give every process the new key before one writes with it (docs/operating.md, Secrets)`;
}
