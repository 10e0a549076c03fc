import type { Caller } from '../load/load.js';
import type { Measured } from '../process-cost.js';

/** Something that answers chat completions, and that the bench can start. */
export interface Target {
  name: string;
  /** For the table. */
  title: string;
  /** Why it cannot run here; undefined when it can. */
  missing(): string | undefined;
  start(upstreamUrl: string): Promise<RunningTarget>;
}

export interface RunningTarget {
  url: string;
  version: string;
  headers?: Record<string, string>;
  caller: Caller;
  /** Without the upstream. */
  processes: Measured[];
  stop(): Promise<void>;
}

export const MODEL = 'gpt-4o-mini';
export const PROVIDER_KEY = 'sk-bench';
