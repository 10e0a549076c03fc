import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Stack } from './stack.js';

const IDLE_MS = 30_000;
/** Prometheus and Grafana are others' programs. */
const SERVICES = ['api', 'admin', 'worker', 'redis', 'postgres', 'balancer', 'simulator'];

/** What containers with nothing to do take of a core, their health checks with them. */
export async function measureIdle(stack: Stack): Promise<string> {
  const read = () =>
    Promise.all(
      SERVICES.map(async (service) => {
        const used = await Promise.all(stack.ids(service).map(cpuNs));
        return used.reduce((sum, ns) => sum + ns, 0);
      }),
    );
  const [before, since] = [await read(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const [after, ms] = [await read(), performance.now() - since];
  const shares = SERVICES.map((_, i) => ((after[i] ?? 0) - (before[i] ?? 0)) / ms / 1e4);
  const total = shares.reduce((sum, share) => sum + share, 0);
  const parts = SERVICES.map((service, i) => `${service} ${shares[i]?.toFixed(1)}`);
  return `${total.toFixed(1)} % of a core (${parts.join(', ')})`;
}

/** Of all processes of the container since its start. */
function cpuNs(id: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const path = `/containers/${id}/stats?stream=false&one-shot=true`;
    const asked = request({ socketPath: '/var/run/docker.sock', path, agent: false }, (response) => {
      json(response).then((body) => {
        const { cpu_stats } = body as { cpu_stats: { cpu_usage: { total_usage: number } } };
        resolve(cpu_stats.cpu_usage.total_usage);
      }, reject);
    });
    asked.on('error', reject).end();
  });
}
