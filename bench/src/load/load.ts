import type { Prompt } from '../prompts.js';

/** The callers and their requests. The generator takes turns among them. */
export interface Caller {
  key: string;
  model: string;
}

export interface Shot {
  /** The connections are spread evenly over these. */
  urls: readonly string[];
  headers?: Readonly<Record<string, string>>;
  callers: readonly Caller[];
  prompt: Prompt;
  connections: number;
  seconds: number;
}

/** Times in ms. */
export interface LoadResult {
  requests: number;
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
  /** Answers that were not 2xx, broken connections, and requests without an answer. */
  errors: number;
}

export interface Generator {
  name: string;
  /** A note for the reader of the figures. */
  note?: string;
  run(shot: Shot): Promise<LoadResult>;
}
