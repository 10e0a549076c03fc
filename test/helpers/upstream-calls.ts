import { createHash } from 'node:crypto';
import type { Call } from '@sluice/simulator/call-log';
import type { Simulator } from '@sluice/simulator/simulator';

/** What the simulator's echo and call log know a user text by. */
export function textHashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The calls that upstream saw for a user text, oldest first: tests that run side by side each have their own text. */
export function callsFor(simulator: Simulator, text: string): Call[] {
  return simulator.calls.filter((call) => call.textHash === textHashOf(text));
}

/** The body of the last of them. */
export function sentFor(simulator: Simulator, text: string): Record<string, unknown> {
  return (callsFor(simulator, text).at(-1)?.body ?? {}) as Record<string, unknown>;
}
