/** What `sluice import` is asked for. */
export type Source = 'litellm' | 'portkey' | 'bifrost';

export interface ImportOptions {
  output?: string;
  force?: boolean;
  /** Portkey's configs have no name for what callers send. */
  route?: string;
}
