/** The gateways whose files `sluice import` reads. */
export type Source = 'litellm' | 'portkey' | 'bifrost';

export interface ImportOptions {
  output?: string;
  force?: boolean;
  /** Portkey's configs have no name for what callers send. */
  route?: string;
}
