import type { Gateway } from '../helpers/gateway.js';

const EVERY_MS = 50;

/** A caller who waits for its answers, one after the other. */
export class Beside {
  constructor(private readonly gateway: Gateway) {}

  /** How long each request took, in ms. */
  async measure(forMs: number): Promise<number[]> {
    const times: number[] = [];
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      const started = performance.now();
      // A model of its own, so that its bills are not those of the batch.
      const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'interactive' }] };
      const { status } = await this.gateway.chat(body);
      if (status !== 200) throw new Error(`a caller beside the batch was answered with ${status}`);
      times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    return times;
  }
}
