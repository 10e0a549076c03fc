/** What a show has to say. */
export interface Shown {
  rows: [what: string, figure: string][];
  /** Empty: everything held. */
  failures: string[];
}
