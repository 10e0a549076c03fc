/** The line that says what runs now and how long the rest will take. On a terminal it stays one line. */
export class Progress {
  #started = 0;
  #done = 0;

  /** `seconds`: what all steps together are expected to take. */
  constructor(
    private readonly steps: number,
    private readonly seconds: number,
  ) {}

  /** Says what starts now. */
  step(what: string): void {
    if (this.#done === 0) this.#started = performance.now();
    const elapsed = (performance.now() - this.#started) / 1000;
    // The plan first, what it really took as soon as that says something.
    const pace = this.#done > 2 ? elapsed / this.#done : this.seconds / this.steps;
    const left = Math.max(0, (this.steps - this.#done) * pace);
    this.#done++;
    this.#print(`[${this.#done}/${this.steps}] ${what} · ${duration(left)} left`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  #print(line: string): void {
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
