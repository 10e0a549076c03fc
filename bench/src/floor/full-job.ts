/** What crosses the queue of `full` beside the sealed texts. */
export interface Entry {
  provider: string;
  model: string;
}

export interface Job {
  requestId: string;
  workspace: string;
  route: string;
  chain: Entry[];
  /** The one of the chain that serves. */
  entry: number;
  inbox: string;
  deadline: number;
  queuedAt: number;
  attempts: unknown[];
}

/** The values of the answer's headers. */
export interface Head extends Entry {
  ms: number;
  cost: string;
}
