import type { Tracer } from './tracer.js';

/** Undefined without an endpoint: nothing is loaded then, and nothing is done. */
export async function startTracer(endpoint: string | undefined, role: string): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { Tracer } = await import('./tracer.js');
  return new Tracer(endpoint, role);
}
