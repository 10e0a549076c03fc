/** Why the archive cannot be read, as a sentence for the people who run the gateway. */
import { sqlState } from './database.js';

/** The tables cannot be read as they are. The message is a sentence. */
export class UnreadableTables extends Error {
  override readonly name = 'UnreadableTables';
}

/** By the beginning of PostgreSQL's name for the error. */
const SENTENCES: readonly [state: string, sentence: string][] = [
  ['28', 'PostgreSQL refuses the role or the password of DATABASE_URL.'],
  ['3D000', 'PostgreSQL has no database of the name that DATABASE_URL has.'],
  ['42501', 'The role of DATABASE_URL may not use the tables. A worker with DATABASE_OWNER_URL grants it.'],
  ['57014', 'PostgreSQL took too long for the answer.'],
  ['57P', 'PostgreSQL is starting or stopping.'],
];

export function explainFailure(error: unknown): string {
  if (error instanceof UnreadableTables) return error.message;
  const state = sqlState(error);
  if (state === undefined) return 'PostgreSQL is away.';
  const known = SENTENCES.find(([beginning]) => state.startsWith(beginning));
  return known?.[1] ?? `PostgreSQL answers with the error ${state}.`;
}
