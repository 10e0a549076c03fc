import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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

test('examples/slack-relay.mjs passes alerts of the gateway and of Alertmanager on as text', async (t) => {
  const heard: string[] = [];
  let status = 200;
  const slack = createServer(async (request, response) => {
    heard.push(await text(request));
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(slack, 'listening');
  const { port } = slack.address() as AddressInfo;
  const env = { PATH: process.env.PATH, SLACK_URL: `http://127.0.0.1:${port}`, PORT: '0' };
  const relay = spawn(process.execPath, ['examples/slack-relay.mjs'], { cwd: REPOSITORY, env });
  t.teardown(() => {
    relay.kill();
    slack.close();
  });
  const [said] = (await once(relay.stdout, 'data')) as [Buffer];
  const url = `http://127.0.0.1:${/\d+/.exec(said.toString())?.[0]}`;
  const tell = async (event: object) =>
    (await fetch(url, { method: 'POST', body: JSON.stringify(event) })).status;

  t.is(await tell({ type: 'alert.fired', text: 'Workspace demo has used 83.1 %.', data: {} }), 204);
  const alerts = [{ status: 'firing', labels: {}, annotations: { summary: 'No worker is running' } }];
  t.is(await tell({ version: '4', alerts }), 204);
  t.deepEqual(heard, [
    '{"text":"Workspace demo has used 83.1 %."}',
    '{"text":"firing: No worker is running"}',
  ]);
  status = 500;
  t.is(await tell({ text: 'Try again.' }), 502);
  t.is(await tell({}), 502);
});

/** By `npm run clients` and `npm run containers`. */
const RUN_ELSEWHERE = ['main.go', 'compose.yml'];

test('every example is run', (t) => {
  const programs = readdirSync(`${REPOSITORY}/examples`).filter((name) => name !== 'README.md');
  t.deepEqual(programs.sort(), [...Object.keys(PROGRAMS), 'slack-relay.mjs', ...RUN_ELSEWHERE].sort());
});
