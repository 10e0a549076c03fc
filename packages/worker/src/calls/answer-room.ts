/**
 * The memory that this process has for large answers. An answer is held several times over while it is read, parsed,
 * encrypted and sent to Redis, so only so many bytes of large ones may be under way at a time. The others wait: their
 * sockets are not read meanwhile, and the provider holds the bytes back. Small answers never wait.
 */

/** An answer up to this size is small. */
export const SMALL_ANSWER_BYTES = 256 * 1024;

export class AnswerRoom {
  #free: number;
  /** The answers that wait, in order. */
  readonly #waiting: { share: AnswerShare; bytes: number; onRoom: () => void }[] = [];

  constructor(private readonly size: number) {
    this.#free = size;
  }

  /** The share of one job. The job gives it back when Redis has stored its settlement. */
  share(): AnswerShare {
    return new AnswerShare(this);
  }

  /** Returns whether the bytes were taken at once. If not, `onRoom` is called when they are. */
  take(share: AnswerShare, bytes: number, onRoom: () => void): boolean {
    // An answer that is larger than the room takes all of it.
    const needed = Math.min(bytes, this.size);
    if (this.#waiting.length === 0 && needed <= this.#free) {
      this.#grant(share, needed);
      return true;
    }
    this.#waiting.push({ share, bytes: needed, onRoom });
    return false;
  }

  giveBack(share: AnswerShare): void {
    const waiting = this.#waiting.findIndex((each) => each.share === share);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    this.#free += share.bytes;
    share.bytes = 0;
    for (let next = this.#waiting[0]; next && next.bytes <= this.#free; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#grant(next.share, next.bytes);
      next.onRoom();
    }
  }

  #grant(share: AnswerShare, bytes: number): void {
    this.#free -= bytes;
    share.bytes = bytes;
  }
}

export class AnswerShare {
  bytes = 0;

  constructor(private readonly room: AnswerRoom) {}

  take(bytes: number, onRoom: () => void): boolean {
    return this.room.take(this, bytes, onRoom);
  }

  giveBack(): void {
    this.room.giveBack(this);
  }
}
