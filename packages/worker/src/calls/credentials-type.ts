/** What lets a call in at a provider. */
export type CallHeaders = Readonly<Record<string, string>>;

/** The call that is about to be made. */
export interface OutgoingCall {
  method: 'GET' | 'POST';
  /** The whole address. */
  url: string;
  body: string;
}

export interface Credentials {
  /** All headers of a call. A key's are there at once. Undefined: there are no credentials, and none is called without. */
  headersFor(call: OutgoingCall): CallHeaders | undefined | Promise<CallHeaders | undefined>;
  /** The provider has refused them. True when others are there now, and another try is worth it. */
  renew?(): Promise<boolean>;
  /** What must not be seen in a message of the provider's. */
  secrets(): readonly string[];
}
