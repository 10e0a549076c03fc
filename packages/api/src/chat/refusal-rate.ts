import { minuteOf } from '@sluice/shared/queue/refusals';

/** Decides which refusals are logged one by one: a number per workspace and minute. The others are only counted. */
export class RefusalRate {
  #minute = 0;
  readonly #refusals = new Map<string, number>();

  constructor(private readonly mostPerMinute: number) {}

  /** Counts one refusal. */
  isExceeded(workspace: string, now: number): boolean {
    const minute = minuteOf(now);
    if (minute !== this.#minute) this.#refusals.clear();
    this.#minute = minute;
    const refusals = (this.#refusals.get(workspace) ?? 0) + 1;
    this.#refusals.set(workspace, refusals);
    return refusals > this.mostPerMinute;
  }
}
