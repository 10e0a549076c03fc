import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { makeFolder, occupyPort, type Run, type RunOptions, run } from '../helpers/all-in-one.js';
import test from '../helpers/needs-redis.js';
import { ownPort } from '../helpers/own-port.js';

async function refused(t: ExecutionContext, options: RunOptions, code = 1): Promise<Run> {
  const gateway = await run(t, options);
  t.is((await gateway.ended).code, code, gateway.output());
  t.deepEqual(gateway.offspring(), []);
  return gateway;
}

test('a port that is in use is named in one line', async (t) => {
  const port = await occupyPort(t);
  const gateway = await refused(t, { env: { PORT: String(port) } });
  t.is(
    gateway.output(),
    `sluice start: cannot start: port ${port} of 127.0.0.1 is in use; set PORT to another one\n`,
  );
});

test('a port of the console that is in use is named, too, and the console does not move', async (t) => {
  const port = await occupyPort(t);
  const gateway = await refused(t, { env: { ADMIN_PORT: String(port) } });
  t.is(
    gateway.output(),
    `sluice start: cannot start: port ${port} of 127.0.0.1 is in use; set ADMIN_PORT to another one\n`,
  );
});

test('a provider with a wrong name is one mistake, however many entries name it', async (t) => {
  const file = join(makeFolder(t), 'gateway.yaml');
  const routes = Array.from({ length: 200 }, (_, i) => `      r${i}: [{ provider: openai, model: gpt-4o }]`);
  writeFileSync(
    file,
    [
      'providers: { opnai: { preset: openai } }',
      'workspaces:',
      '  - id: demo',
      '    routes:',
      ...routes,
    ].join('\n'),
  );
  const gateway = await refused(t, { env: { GATEWAY_CONFIG: file } });
  t.regex(
    gateway.output(),
    /: 1 mistake\n {2}line 5: workspaces\[0\]\.routes\.r0\[0\]\.provider: must be opnai \(the same in 199 further entries\)\n$/,
  );
});

test('an address that is not of this machine, or of no machine, is refused in words', async (t) => {
  const foreign = await refused(t, { env: { HOST: '192.0.2.1' } });
  t.is(foreign.output(), 'sluice start: cannot start: HOST is 192.0.2.1: this machine has no such address\n');
  const unknown = await refused(t, { env: { ADMIN_HOST: 'nowhere.invalid' } });
  t.is(
    unknown.output(),
    'sluice start: cannot start: ADMIN_HOST is nowhere.invalid: no address is known for this name\n',
  );
});

test('one port for callers and console is refused before anything starts', async (t) => {
  const port = String(await ownPort());
  const gateway = await refused(t, { env: { PORT: port, ADMIN_PORT: port } });
  t.is(
    gateway.output(),
    `sluice start: cannot start: PORT and ADMIN_PORT are both ${port}; set one of them to another port\n`,
  );
});

test('all mistakes of gateway.yaml are shown at once', async (t) => {
  const file = join(makeFolder(t), 'gateway.yaml');
  writeFileSync(
    file,
    'providers: {openai: {kind: openia}}\nworkspaces: [{id: demo, routes: {fast: [{provider: openai}]}}]\n',
  );
  const gateway = await refused(t, { env: { GATEWAY_CONFIG: file } });
  const [head, ...lines] = gateway.output().trim().split('\n');
  t.is(head, `sluice start: ${file}: 3 mistakes`);
  t.deepEqual(
    lines.map((line) => line.trim().split(': ').slice(0, 2).join(': ')),
    [
      'line 1: providers.openai.kind',
      'line 1: providers.openai.base_url',
      'line 2: workspaces[0].routes.fast[0].model',
    ],
  );
});

test('a route to a provider that neither the file nor Redis has is named with its line', async (t) => {
  const file = join(makeFolder(t), 'gateway.yaml');
  writeFileSync(
    file,
    'workspaces:\n  - id: demo\n    routes: { fast: [{ provider: opnai, model: gpt-4o }] }\n',
  );
  const gateway = await refused(t, { env: { GATEWAY_CONFIG: file } });
  t.regex(
    gateway.output(),
    /: 1 mistake\n {2}line 3: workspaces\[0\]\.routes\.fast\[0\]\.provider: must be one of openai, anthropic; did you mean openai\?\n$/,
  );
});

test('a gateway.yaml that is not there is named', async (t) => {
  const gateway = await refused(t, { env: { GATEWAY_CONFIG: '/nowhere/gateway.yaml' } });
  t.is(gateway.output(), 'sluice start: /nowhere/gateway.yaml: 1 mistake\n  cannot be read (ENOENT)\n');
});

test('all mistakes of the environment are shown at once', async (t) => {
  const gateway = await refused(t, {
    env: { PORT: '80.5', METRICS_PORT: '-1', REDIS_URL: 'localhost', LOG_LEVEL: 'loud' },
  });
  t.regex(gateway.output(), /^sluice start: environment: 4 mistakes\n/);
  for (const name of ['PORT', 'METRICS_PORT', 'REDIS_URL', 'LOG_LEVEL'])
    t.regex(gateway.output(), new RegExp(`^ {2}${name}: must be `, 'm'));
});

test('a malformed GATEWAY_KEY is refused without being shown', async (t) => {
  const gateway = await refused(t, { env: { GATEWAY_KEY: 'too short' } });
  t.regex(
    gateway.output(),
    /^sluice start: workspace keys: 1 mistake\n {2}line \d+: key "default" of workspace demo: the value of GATEWAY_KEY must/m,
  );
  t.notRegex(gateway.output(), /too short/);
});

test('a Redis that cannot be reached is reported after a bounded wait', async (t) => {
  const port = await ownPort();
  const gateway = await refused(t, { env: { REDIS_URL: `redis://:secret@127.0.0.1:${port}` } });
  t.regex(
    gateway.output(),
    /^sluice start: cannot start: Redis did not answer within \d+ ms \(.*ECONNREFUSED/m,
  );
  t.notRegex(gateway.output(), /secret/);
});

test('--help tells the options, and a wrong one is refused', async (t) => {
  const help = await run(t, { args: ['--help'] });
  t.is((await help.ended).code, 0);
  for (const option of ['--apis', '--workers', '--data']) t.true(help.output().includes(option));
  const wrong = await refused(t, { args: ['--workers', '0'] }, 2);
  t.regex(wrong.output(), /must be a whole number from 1 to 99/);
});
