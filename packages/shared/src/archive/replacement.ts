/**
 * An erased end user's entry goes from the log at once. When a copy of the log lacks it, an entry without the user takes its
 * place at the end of the log, for that copy. Everybody else has read the first one, and passes over the second.
 */

export type Lacking = 'postgres' | 'files' | 'both';

export interface Replacement {
  /** The id of the entry that went. */
  was: string;
  lacking: Lacking;
}

/** Reads the fields of an entry in the stream. Undefined for an entry that replaces none. */
export function replacementOf(fields: readonly string[]): Replacement | undefined {
  const [, , name, was = '', , lacking] = fields;
  return name === 'was' ? { was, lacking: lacking as Lacking } : undefined;
}

/** Whether PostgreSQL has the request by its first entry, or there is no PostgreSQL and the request is erased. */
export function isForFilesAlone(fields: readonly string[]): boolean {
  return replacementOf(fields)?.lacking === 'files';
}
