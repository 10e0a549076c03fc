/**
 * The load before anything is measured. Gateways run for days, but V8 needs tens of thousands of requests until it has
 * compiled all of one request's way: requests/s still grow after ten seconds.
 */
export const WARM_UP = { connections: 64, seconds: 30 };
