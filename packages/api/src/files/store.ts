/** The store for the bytes of files: a folder or a bucket. The gateway makes all names, never a caller. */
export interface ObjectStore {
  /** The object exists completely or not at all. It replaces an object of the same name. */
  write(name: string, bytes: AsyncIterable<Buffer>): Promise<void>;
  /** From byte `start` to the end. Throws `MissingObject`. */
  read(name: string, start: number): AsyncIterable<Buffer>;
  /** Removing a missing object succeeds. */
  remove(name: string): Promise<void>;
}

export class MissingObject extends Error {
  override readonly name = 'MissingObject';
}
