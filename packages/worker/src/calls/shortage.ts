import { closeSync, openSync } from 'node:fs';

/** This machine or process has no descriptor, port or memory left for a connection. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);
/** A name cannot be resolved without a descriptor either, and then only this is said. */
const UNRESOLVED: ReadonlySet<unknown> = new Set(['EAI_AGAIN', 'ENOTFOUND']);

/** Whether a connection failed for want of something on our side. It then says nothing about the other one. */
export function isShortage(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return EXHAUSTED.has(code) || (UNRESOLVED.has(code) && !canOpen());
}

function canOpen(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return true;
  } catch {
    return false;
  }
}
