/** Processes whose clock is wrong, by libfaketime. Monotonic time is left alone, as on a machine whose clock is set wrongly. */
import { existsSync } from 'node:fs';

const LIBRARY = ['x86_64', 'aarch64']
  .map((arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

export const NO_FALSE_CLOCK = 'libfaketime is not here; Debian’s package faketime has it';

/** The environment of such a process, `offset` like `-5m`; undefined when it cannot be had here. */
export function falseClock(offset: string): Record<string, string> | undefined {
  if (LIBRARY === undefined) return undefined;
  return { LD_PRELOAD: LIBRARY, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
