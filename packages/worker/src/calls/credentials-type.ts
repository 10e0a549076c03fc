/** The headers by which a provider accepts a call. */
export type CallHeaders = Readonly<Record<string, string>>;

/** The call that is about to be made. */
export interface OutgoingCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** The whole address. */
  url: string;
  body: string | Buffer;
}

export interface Credentials {
  /** All headers of a call. With a key they are ready at once. Undefined: there are no credentials, so nobody calls. */
  headersFor(call: OutgoingCall): CallHeaders | undefined | Promise<CallHeaders | undefined>;
  /** The provider has refused the credentials. True when there are new ones, and another try makes sense. */
  renew?(): Promise<boolean>;
  /** Texts that must not appear in a message of the provider. */
  secrets(): readonly string[];
}
