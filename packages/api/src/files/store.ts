/** Where the bytes of files lie: a folder, or a bucket. Names are made by the gateway, never by a caller. */
export interface ObjectStore {
  /** The object is there whole, or not at all. One of the same name is replaced. */
  write(name: string, bytes: AsyncIterable<Buffer>): Promise<void>;
  /** From byte `start` to the end. Throws `MissingObject`. */
  read(name: string, start: number): AsyncIterable<Buffer>;
  /** What is not there is removed already. */
  remove(name: string): Promise<void>;
}

export class MissingObject extends Error {
  override readonly name = 'MissingObject';
}
