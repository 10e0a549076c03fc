import type { Call } from '@sluice/simulator/call-log';
import { stir } from './until.js';

/** Holds the upstream's answers back, one by one, so that a fault can be put exactly in the middle of a call. */
export class Hold {
  /** Calls that wait for their answer. */
  readonly held: { call: Call; release(): void }[] = [];
  #holding = true;

  /** `callMs`: how long a call takes that is not held. */
  constructor(private readonly callMs = 1) {}

  /** The simulator's `latencyMs`. */
  readonly latency = (call: Call): number | Promise<void> => {
    if (!this.#holding) return this.callMs;
    return new Promise((resolve) => {
      this.held.push({ call, release: resolve });
      stir();
    });
  };

  /** Answers what is held, and what comes from now on. */
  release(): void {
    this.#holding = false;
    for (const { release } of this.held.splice(0)) release();
  }

  hold(): void {
    this.#holding = true;
  }
}
