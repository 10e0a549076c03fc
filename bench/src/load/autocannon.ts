import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf, scratch } from '../children.js';
import { installRival } from '../install-rival.js';
import { promptText } from '../prompts.js';
import type { Generator, LoadResult, Shot } from './load.js';

const VERSION = '8.0.0';
const TIMEOUT_S = 30;

interface Output {
  latency: { p50: number; p97_5: number; p99: number; max: number };
  requests: { total: number };
  duration: number;
  errors: number;
  non2xx: number;
  timeouts: number;
}

export function createAutocannon(say: (line: string) => void): Generator {
  const folder = installRival('autocannon', VERSION, say);
  return {
    name: `autocannon ${VERSION}`,
    note: 'autocannon counts whole milliseconds, has no 95th percentile (the 97.5th stands in) and sends as one caller only.',
    async run(shot) {
      const results = await Promise.all(
        shot.urls.map((url) =>
          shoot(join(folder, 'autocannon.js'), shot, url, shot.connections / shot.urls.length),
        ),
      );
      return combine(results);
    },
  };
}

async function shoot(script: string, shot: Shot, url: string, connections: number): Promise<Output> {
  const [caller] = shot.callers;
  if (!caller) throw new Error('no caller');
  const body = scratch('autocannon-body.json');
  const messages = [{ role: 'user', content: promptText(shot.prompt) }];
  writeFileSync(body, JSON.stringify({ model: caller.model, messages }));
  const headers = {
    ...shot.headers,
    authorization: `Bearer ${caller.key}`,
    'content-type': 'application/json',
  };
  const stdout = await outputOf(process.execPath, [
    script,
    '--json',
    '--no-progress',
    '--method=POST',
    `--input=${body}`,
    `--connections=${Math.max(1, Math.round(connections))}`,
    `--duration=${shot.seconds}`,
    `--timeout=${TIMEOUT_S}`,
    ...Object.entries(headers).flatMap(([name, value]) => ['--headers', `${name}=${value}`]),
    `${url}/v1/chat/completions`,
  ]);
  return JSON.parse(stdout) as Output;
}

/** When several runs go at once, the worst percentile stands for all. */
function combine(outputs: readonly Output[]): LoadResult {
  const total = (of: (output: Output) => number) => outputs.reduce((sum, output) => sum + of(output), 0);
  const worst = (of: (output: Output) => number) => Math.max(...outputs.map(of));
  const requests = total((output) => output.requests.total);
  return {
    requests,
    perSecond: requests / worst(({ duration }) => duration),
    p50: worst(({ latency }) => latency.p50),
    p95: worst(({ latency }) => latency.p97_5),
    p99: worst(({ latency }) => latency.p99),
    max: worst(({ latency }) => latency.max),
    // `errors` has the timeouts in it.
    errors: total(({ errors, non2xx }) => errors + non2xx),
  };
}
