/** Why a call is ended: nobody waits for it any more, or another worker has been given its job. */
export type StopReason = 'cancelled' | 'lock_lost';

/** Like an AbortSignal, but for one listener. Every job needs one, and an AbortController is costly. */
export class StopSignal {
  #reason: StopReason | undefined;
  /** Called once, when it is time to stop. */
  onStop: (() => void) | undefined;

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Resolves after so long, or when it is time to stop. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (ms <= 0 || this.#reason !== undefined) return resolve();
      const end = () => {
        clearTimeout(timer);
        this.onStop = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.onStop = end;
    });
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.onStop?.();
  }
}
