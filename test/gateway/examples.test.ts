import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway({ simulator: { caches: {} } });
});
test.after.always(() => gateway?.stop());

const PROGRAMS: Record<string, { program: string; prints: RegExp }> = {
  'curl.sh': { program: 'sh', prints: /"object":\s*"chat\.completion"/ },
  'node.mjs': { program: process.execPath, prints: /\nServed by openai\.\n$/ },
  'python.py': { program: 'python3', prints: /\nServed by openai\.\n$/ },
  'deadline.mjs': {
    program: process.execPath,
    prints: /^Accepted, until .*Z\.\n[\s\S]*\nIt cost 0\.\d+ USD\.\n$/,
  },
  'limits.mjs': { program: process.execPath, prints: /^40 of 40 were answered\.\n$/ },
  'quote.mjs': { program: process.execPath, prints: /^1 line in 1h: 0\.\d{6} USD, 0\.\d{6} at most\.\n/ },
  'safe-retry.mjs': { program: process.execPath, prints: /^Replayed: true\. The same answer: true\.\n$/ },
  'warm-cache.mjs': { program: process.execPath, prints: /^1664 of \d+ tokens came from the cache\.\n$/ },
};

for (const [file, { program, prints }] of Object.entries(PROGRAMS))
  test(`examples/${file} runs as it stands`, async (t) => {
    const env = { PATH: process.env.PATH, GATEWAY_URL: `${gateway.url}/v1`, GATEWAY_KEY: gateway.key };
    const { stdout } = await promisify(execFile)(program, [`examples/${file}`], { cwd: REPOSITORY, env });
    t.regex(stdout, prints);
  });

/** By `npm run clients` and `npm run containers`. */
const RUN_ELSEWHERE = ['main.go', 'compose.yml'];

test('every example is run', (t) => {
  const programs = readdirSync(`${REPOSITORY}/examples`).filter((name) => name !== 'README.md');
  t.deepEqual(programs.sort(), [...Object.keys(PROGRAMS), ...RUN_ELSEWHERE].sort());
});
