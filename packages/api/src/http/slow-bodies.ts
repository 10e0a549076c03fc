/**
 * Connections on which a body may take longer than others: an upload. Whoever reads it has to give up one that stands still.
 * Node tells once that a request is late, and leaves it to us what follows from that.
 */
import type { Duplex } from 'node:stream';

const patient = new WeakSet<Duplex>();

/** Returns what ends it. */
export function allowSlowBody(socket: Duplex): () => void {
  patient.add(socket);
  return () => patient.delete(socket);
}

export function maySendSlowly(socket: Duplex): boolean {
  return patient.has(socket);
}
