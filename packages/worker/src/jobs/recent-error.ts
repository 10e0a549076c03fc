/** Longer than the time between two tries. */
const RECENT_MS = 5_000;

/** The latest error of something that runs by itself and reports only its failures. */
export class RecentError {
  #error: unknown;
  #at = Number.NEGATIVE_INFINITY;

  note(error: unknown): void {
    this.#error = error;
    this.#at = performance.now();
  }

  /** Throws the error while it is recent. */
  async check(): Promise<void> {
    if (performance.now() - this.#at < RECENT_MS) throw this.#error;
  }
}
