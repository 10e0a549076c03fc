/**
 * Keeps one workspace's flood from standing in everybody's way. A workspace's requests are plain first-come-first-served
 * jobs until it has as many in flight as the provider takes at a time. Those beyond get a BullMQ priority that grows with
 * their number; jobs without a priority run first, so the flood waits behind everybody else, and two floods take turns.
 *
 * As many as the provider takes at a time have the same priority, and are served in the order they came: were it finer, a
 * request that came while a few more were in flight would be overtaken again and again by its own workspace's newer ones.
 */
const MAX_PRIORITY = 2 ** 21 - 1; // BullMQ’s own limit

export class Fairness {
  readonly #inFlight = new Map<string, number>();

  enter(workspace: string): void {
    this.#inFlight.set(workspace, (this.#inFlight.get(workspace) ?? 0) + 1);
  }

  leave(workspace: string): void {
    const left = (this.#inFlight.get(workspace) ?? 1) - 1;
    if (left > 0) this.#inFlight.set(workspace, left);
    else this.#inFlight.delete(workspace);
  }

  /** 0: none. `share` is how many requests this api process may have in flight at the provider as its fair part. */
  priority(workspace: string, share: number): number {
    const beyond = (this.#inFlight.get(workspace) ?? 0) - share;
    return beyond > 0 ? Math.min(Math.ceil(beyond / share), MAX_PRIORITY) : 0;
  }
}
