/**
 * Keeps one workspace's flood from standing in everybody's way. A workspace's requests are plain first-come-first-served
 * jobs until it has as many in flight as the provider takes at a time. Those beyond get a BullMQ priority that grows with
 * their number; jobs without a priority run first, so the flood waits behind everybody else, and two floods take turns.
 *
 * Nobody is overtaken by its own workspace's newer requests, or under a lasting flood some would be, again and again, until
 * their wait is over: as long as a request that got a priority may still be waiting, later ones get no lower one.
 */
const MAX_PRIORITY = 2 ** 21 - 1; // BullMQ’s own limit

export class Fairness {
  readonly #inFlight = new Map<string, number>();
  readonly #least = new Map<string, { priority: number; until: number }>();

  enter(workspace: string): void {
    this.#inFlight.set(workspace, (this.#inFlight.get(workspace) ?? 0) + 1);
  }

  leave(workspace: string): void {
    const left = (this.#inFlight.get(workspace) ?? 1) - 1;
    if (left > 0) this.#inFlight.set(workspace, left);
    else {
      this.#inFlight.delete(workspace);
      this.#least.delete(workspace);
    }
  }

  /**
   * Of a request that waits until `waitUntil`; 0: none. `share` is how many requests this api process may have in flight at
   * the provider as its fair part.
   */
  priority(workspace: string, share: number, now: number, waitUntil: number): number {
    const beyond = (this.#inFlight.get(workspace) ?? 0) - share;
    const priority = beyond > 0 ? Math.min(Math.ceil(beyond / share), MAX_PRIORITY) : 0;
    const least = this.#least.get(workspace);
    if (least && now < least.until && priority < least.priority) return least.priority;
    if (priority > 0) this.#least.set(workspace, { priority, until: waitUntil });
    return priority;
  }
}
