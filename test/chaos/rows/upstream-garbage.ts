import { readFileSync } from 'node:fs';
import type { Action } from '@sluice/simulator/faults';
import { PAIR, type Scenario, SOLO, type Trial } from '../trial.js';

const FAULTS: Record<string, Action> = {
  'connection reset before an answer': { reset: 'before_headers' },
  'connection reset after the headers': { reset: 'after_headers' },
  'truncated body': { truncate: true },
  'HTML with 200': { html200: true },
  'empty body with 200': { empty200: true },
  'no choices': { emptyChoices: true },
  'wrong content type': { wrongContentType: true },
  'no JSON': { status: 200, body: '{"choices": [' },
  'JSON of another kind': { status: 200, body: [] },
  redirect: { redirect: 'http://127.0.0.1:1/' },
};

export const garbage: Scenario = {
  name: 'upstream-garbage',
  fault:
    'half-closed, truncated, HTML, empty or otherwise unusable answers: a failure, never a malformed 200',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: { ...SOLO, ...PAIR },
      providers: { openai: { circuit_failures: 0 } },
    });
    for (const [name, action] of Object.entries(FAULTS)) {
      simulator.clearScript();
      simulator.script({ match: { provider: 'openai' }, action });
      const [alone] = await trial.burst(1, { expect: [502] });
      trial.check(`${name}: ${alone?.status} ${alone?.code}`, alone?.code === 'provider_error');
      const [fallen] = await trial.burst(1, { model: 'pair' });
      trial.check(`${name}: fallback`, fallen?.headers?.get('x-gateway-provider') === 'anthropic');
    }
    trial.extraCallsAllowed = 2 * Object.keys(FAULTS).length;
  },
};

const GIGABYTE = 1024 ** 3;
const MORE_MB = 50;

export const endless: Scenario = {
  name: 'upstream-endless',
  fault: 'answers of 1 GB, and of 1 byte per second: cut by size and by time, with little memory',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: { ...SOLO, ...PAIR },
      providers: { openai: { timeout_ms: 10_000, circuit_failures: 0 } },
    });
    await trial.burst(200);
    const before = rssOf(trial);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, rssOf(trial));
    }, 50);
    trial.onClose(() => clearInterval(watch));
    simulator.script({ match: { provider: 'openai', textIncludes: 'huge' }, action: { hugeBody: GIGABYTE } });
    simulator.script({ match: { provider: 'openai', textIncludes: 'drip' }, action: { slowDrip: 1 } });
    const huge = await trial.send(trial.text('huge'), { model: 'pair' });
    trial.check('too much is a failure', huge.headers?.get('x-gateway-provider') === 'anthropic');
    const drip = await trial.send(trial.text('drip'), { model: 'pair' });
    trial.check('too slow is a failure', drip.headers?.get('x-gateway-provider') === 'anthropic');
    trial.checkTime('cut', drip.ms, 12_000);
    trial.note(`the worker’s memory grew by ${(peak - before).toFixed(0)} MB`);
    trial.check(`less than ${MORE_MB} MB more: ${peak - before}`, peak - before < MORE_MB);
    trial.extraCallsAllowed = 2;
  },
};

function rssOf(trial: Trial): number {
  const status = readFileSync(`/proc/${trial.gateway.workers[0]?.child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}
