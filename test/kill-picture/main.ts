/**
 * `npm run picture`: keeps a real gateway under load, kills one of its two workers with SIGKILL in the middle, and draws
 * what the callers saw into docs/images/killed-worker.svg. Every figure in it is measured.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRealGateway } from '../helpers/gateway.js';
import { REPOSITORY } from '../helpers/prometheus.js';
import { type Call, drawPicture } from './draw.js';

const RUN_MS = 30_000;
const KILL_AT_MS = 10_000;
const RESTART_AFTER_MS = 4_000;
const CALLERS = 16;
const LATENCY_MS = 250;

const gateway = await startRealGateway({
  workers: 2,
  providers: { openai: { concurrency: 64 } },
  simulator: { latencyMs: LATENCY_MS },
  env: { LOG_LEVEL: 'error' },
});
await gateway.chat({ model: 'fast', messages: [{ role: 'user', content: 'Warm up.' }] });

const started = performance.now();
const now = () => performance.now() - started;
const calls: Call[] = [];
async function caller(): Promise<void> {
  while (now() < RUN_MS) {
    const from = now();
    const { status } = await gateway.chat({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] });
    calls.push({ from, to: now(), status });
  }
}
async function kill(): Promise<number> {
  await sleep(KILL_AT_MS);
  const victim = gateway.workers[0]?.child;
  const gone = victim && once(victim, 'exit');
  victim?.kill('SIGKILL');
  const at = now();
  await gone;
  await sleep(RESTART_AFTER_MS);
  await gateway.addWorker();
  return at;
}
const [killedAt] = await Promise.all([kill(), ...Array.from({ length: CALLERS }, caller)]);

const logged = (await gateway.log()).length - 1;
const simulated = gateway.simulator.calls.length - 1;
const file = 'docs/images/killed-worker.svg';
writeFileSync(
  new URL(file, REPOSITORY),
  drawPicture({ calls, killedAt, logged, simulated, callers: CALLERS }),
);
const failed = calls.filter(({ status }) => status !== 200).length;
console.log(
  `${file}: ${calls.length} calls, ${failed} failed, ${logged} logged, ${simulated} calls of the provider`,
);
gateway.workers.shift();
await gateway.stop();
process.exit(0);
