/**
 * Connections on which a body may take longer, such as an upload. The reader of the body has to give up one that stands
 * still. Node reports once that a request is late, and leaves the consequence to the listener.
 */
import type { Duplex } from 'node:stream';

const patient = new WeakSet<Duplex>();

/** Returns a function that ends the permission. */
export function allowSlowBody(socket: Duplex): () => void {
  patient.add(socket);
  return () => patient.delete(socket);
}

export function maySendSlowly(socket: Duplex): boolean {
  return patient.has(socket);
}
