import type { Tracer } from './tracer.js';

/** Undefined without an endpoint. Then the tracer is not even loaded. */
export async function startTracer(endpoint: string | undefined, role: string): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { Tracer } = await import('./tracer.js');
  return new Tracer(endpoint, role);
}
