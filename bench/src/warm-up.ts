/**
 * The load before anything is measured. Gateways run for days, but V8 needs tens of thousands of requests until it has
 * compiled all of one request's way: requests/s still grow after ten seconds.
 */
export const WARM_UP = { connections: 64, seconds: 30 };

/**
 * Contenders warm up in turns, so that none is idle for half a minute before it is measured: V8 gives back the memory of such a
 * process, which then begins with less than the others.
 */
export const WARM_UP_TURNS = Array.from({ length: 6 }, () => ({
  connections: WARM_UP.connections,
  seconds: WARM_UP.seconds / 6,
}));
