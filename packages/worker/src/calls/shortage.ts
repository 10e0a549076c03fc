import { closeSync, openSync } from 'node:fs';

/** This machine or process has no descriptor, port or memory left for a connection. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);
/** Without a descriptor a name cannot be resolved either, and the error only says this. */
const UNRESOLVED: ReadonlySet<unknown> = new Set(['EAI_AGAIN', 'ENOTFOUND']);

/** Whether a connection failed because this machine lacks something. Then it says nothing about the provider. */
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
