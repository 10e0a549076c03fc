/**
 * The lines of a batch that Redis has recorded, and what the run that holds the lease knows about each. `all` has every line;
 * the other sets name some of its lines. A line leaves all of them by `forget`, when its outcome is stored. The bytes of its
 * request count until the reply has come, or until nothing was queued after all.
 */
import type { FedLine } from './line-store.js';

/** The most bytes of a batch's requests that are in memory and in Redis at a time. The first request always fits. */
const MOST_BYTES = 8 * 1024 * 1024;
/** So many prefixes whose first line has ended are remembered. */
const MOST_OPENED = 10_000;

export class LinesUnderWay {
  readonly all = new Map<string, FedLine>();
  /** The lines that wait for another try → until when. */
  readonly parked = new Map<string, number>();
  /** Those that have ended, and whose outcome is not stored yet. */
  readonly ended = new Set<string>();
  /** The lines whose state this run does not know. */
  readonly unknown = new Set<string>();
  /** The lines whose results the provider's batch brings. */
  readonly handed = new Set<string>();
  readonly #bytes = new Map<string, number>();
  /** Prefix → the line that was sent first with it. Lines that follow it wait in the queue until it has ended. */
  readonly #firsts = new Map<string, string>();
  /** The lines that wait so → their prefix. */
  readonly #followers = new Map<string, string>();
  readonly #opened = new Set<string>();

  get inFlight(): number {
    return this.all.size - this.parked.size - this.ended.size - this.handed.size;
  }

  /** A line that has ended still counts here, until its outcome is stored. Only parked lines do not. */
  get isUnfinished(): boolean {
    return this.all.size > this.parked.size;
  }

  /** How many lines wait for the first of their prefix. They take no slot of their provider meanwhile. */
  get followers(): number {
    return this.#followers.size;
  }

  hasFirst(prefix: string | undefined): boolean {
    return prefix !== undefined && this.#firsts.has(prefix);
  }

  /** The line is sent. It is the first of its prefix, or follows it. */
  follow(requestId: string, prefix: string | undefined): void {
    if (prefix === undefined || this.#opened.has(prefix)) return;
    if (this.#firsts.has(prefix)) this.#followers.set(requestId, prefix);
    else this.#firsts.set(prefix, requestId);
  }

  /** The line has ended. If it was the first of its prefix, nobody waits for it any more. */
  #open(requestId: string): void {
    this.#followers.delete(requestId);
    for (const [prefix, first] of this.#firsts) {
      if (first !== requestId) continue;
      this.#firsts.delete(prefix);
      if (this.#opened.size >= MOST_OPENED) this.#opened.clear();
      this.#opened.add(prefix);
      for (const [follower, its] of this.#followers) if (its === prefix) this.#followers.delete(follower);
      return;
    }
  }

  /** Takes over what an earlier run has recorded. */
  load(recorded: ReadonlyMap<string, FedLine>, isHanded: (fed: FedLine) => boolean): void {
    this.all.clear();
    for (const [requestId, fed] of recorded) {
      const { until, providers } = fed;
      this.all.set(requestId, fed);
      if (isHanded(fed)) this.handed.add(requestId);
      else if (fed.at !== undefined) this.parked.set(requestId, 0);
      else if (until !== undefined && providers.length === 0) this.parked.set(requestId, until);
      else this.unknown.add(requestId);
    }
  }

  park(requestId: string, fed: FedLine, until: number): void {
    this.all.set(requestId, fed);
    this.parked.set(requestId, until);
  }

  hand(requestId: string, fed: FedLine): void {
    this.all.set(requestId, fed);
    this.handed.add(requestId);
  }

  forget(requestId: string): void {
    this.all.delete(requestId);
    this.parked.delete(requestId);
    this.ended.delete(requestId);
    this.unknown.delete(requestId);
    this.handed.delete(requestId);
    this.#bytes.delete(requestId);
    this.#open(requestId);
  }

  /** Nobody knows what became of the line. */
  lose(requestId: string): void {
    this.unknown.add(requestId);
    this.#open(requestId);
  }

  /** The reply of the request has come. The outcome may have been stored before, and then the line is forgotten already. */
  end(requestId: string): void {
    if (this.all.has(requestId)) this.ended.add(requestId);
    this.#bytes.delete(requestId);
    this.#open(requestId);
  }

  takeBytes(requestId: string, { offset, end }: Pick<FedLine, 'offset' | 'end'>): void {
    this.#bytes.set(requestId, end - offset);
  }

  giveBytesBack(requestId: string): void {
    this.#bytes.delete(requestId);
  }

  hasRoomFor({ offset, end }: Pick<FedLine, 'offset' | 'end'>): boolean {
    let bytes = end - offset;
    for (const taken of this.#bytes.values()) bytes += taken;
    return this.#bytes.size === 0 || bytes <= MOST_BYTES;
  }
}
