import { writeFileSync } from 'node:fs';
import { outputOf, scratch } from '../children.js';
import { promptText } from '../prompts.js';
import type { Generator, LoadResult, Shot } from './load.js';

/** Longer than any answer takes here: what takes longer is an error. */
const TIMEOUT_S = 30;
const RESULT = 'result ';
const PATH = '/v1/chat/completions';

let scripts = 0;

/** One thread per url, so that each thread can have its own; one url, the usual case, is one thread. */
export function createWrk(program: string): Generator {
  return {
    name: 'wrk',
    async run(shot) {
      const name = `load-${++scripts}`;
      const [callers, body, script] = ['callers', 'body', 'lua'].map((kind) => scratch(`${name}.${kind}`));
      if (!callers || !body || !script) throw new Error('no scratch files');
      writeFileSync(callers, shot.callers.map(({ key, model }) => `${key} ${model}\n`).join(''));
      writeFileSync(body, JSON.stringify([{ role: 'user', content: promptText(shot.prompt) }]));
      writeFileSync(script, toLua(shot, callers, body));
      const stdout = await outputOf(program, [
        `--threads=${shot.urls.length}`,
        `--connections=${shot.connections}`,
        `--duration=${shot.seconds}s`,
        `--timeout=${TIMEOUT_S}s`,
        `--script=${script}`,
        `${shot.urls[0]}${PATH}`,
      ]);
      return parseWrk(stdout);
    },
  };
}

export function parseWrk(output: string): LoadResult {
  const line = output.split('\n').find((text) => text.startsWith(RESULT));
  if (!line) throw new Error(`wrk gave no result:\n${output.slice(-1_000)}`);
  const [requests = 0, us = 0, p50 = 0, p95 = 0, p99 = 0, max = 0, errors = 0] = line
    .slice(RESULT.length)
    .split(' ')
    .map(Number);
  return {
    requests,
    perSecond: requests / (us / 1e6),
    p50: p50 / 1000,
    p95: p95 / 1000,
    p99: p99 / 1000,
    max: max / 1000,
    errors,
  };
}

function toLua({ urls, headers = {} }: Shot, callersFile: string, bodyFile: string): string {
  const hosts = urls
    .map((url) => new URL(url))
    .map(({ hostname, port }) => `{ ${text(hostname)}, ${text(port)} }`);
  const lines = Object.entries(headers).map(([name, value]) => `  [${text(name)}] = ${text(value)},\n`);
  return `
local hosts = { ${hosts.join(', ')} }
local headers = {
${lines.join('')}}
local threads = 0

function setup(thread)
  threads = threads + 1
  thread.addr = wrk.lookup(hosts[threads][1], hosts[threads][2])[1]
end

local requests = {}

function init()
  local file = assert(io.open(${text(bodyFile)}))
  local messages = file:read('*a')
  file:close()
  headers['content-type'] = 'application/json'
  for line in io.lines(${text(callersFile)}) do
    local key, model = line:match('^(%S+) (%S+)$')
    headers['authorization'] = 'Bearer ' .. key
    local body = '{"model":"' .. model .. '","messages":' .. messages .. '}'
    requests[#requests + 1] = wrk.format('POST', nil, headers, body)
  end
end

local turn = 0

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('${RESULT}%d %d %d %d %d %d %d\\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

function text(value: string): string {
  if (/["\\\n\r]/.test(value)) throw new Error('a header or path cannot be written into the script');
  return `"${value}"`;
}
