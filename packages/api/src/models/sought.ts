export interface Sought {
  /** The model that the request needs: what the caller sent, or what the route names. */
  soughtModel: string;
}
