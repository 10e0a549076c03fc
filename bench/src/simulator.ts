import { freePort } from '@sluice/cli/start/free-port';
import { type Child, startOwn } from './children.js';

export interface Upstream extends Child {
  url: string;
}

/** The simulated provider as a process of its own (`latencyMs`: milliseconds, or a range of them), with everything off that costs it time. */
export async function startUpstream(latencyMs: number | string, port?: number): Promise<Upstream> {
  port ??= await freePort();
  const child = await startOwn('@sluice/simulator/main', {
    PORT: String(port),
    SIMULATOR_LATENCY_MS: String(latencyMs),
    SIMULATOR_KEEP_BODIES: 'false',
    SIMULATOR_ECHO: 'false',
  });
  return { ...child, url: `http://127.0.0.1:${port}` };
}
