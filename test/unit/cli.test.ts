/** What `sluice` does without a gateway. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findAdmin } from '@sluice/cli/admin/address';
import { warningsAbout } from '@sluice/cli/apply/check-config';
import { chainText, parseEntry } from '@sluice/cli/arguments/chain-text';
import {
  dayIn,
  parseDay,
  parseDuration,
  parseMoment,
  parseWhen,
} from '@sluice/cli/arguments/parse-arguments';
import { cliReference, commandsOf, createReferenceProgram, helpOf, namesOf } from '@sluice/cli/cli-reference';
import { workersFor } from '@sluice/cli/commands/processes';
import { duration, fromNow, moment } from '@sluice/cli/output/format';
import { createStyle } from '@sluice/cli/output/style';
import { table } from '@sluice/cli/output/table';
import { loadConfig, parseConfig } from '@sluice/shared/config/config';
import test, { type ExecutionContext } from 'ava';
import { ownPort } from '../helpers/own-port.js';
import { BIN, sluice } from '../helpers/sluice.js';
import { skipAll } from '../helpers/test-needing.js';

const repository = new URL('../../../', import.meta.url);
const plain = createStyle({ stdout: process.stdout, env: { NO_COLOR: '1' } });

function folderOf(t: ExecutionContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test('docs/cli.md is what the commands say about themselves; "npm run docs" writes it', (t) => {
  t.is(readFileSync(new URL('docs/cli.md', repository), 'utf8'), cliReference());
});

test('every command has a description and examples that begin with it', (t) => {
  for (const command of commandsOf(createReferenceProgram())) {
    const name = namesOf(command).join(' ');
    const [, examples] = helpOf(command).split('\nExamples:\n');
    t.true(command.description() !== '', name);
    t.true(
      examples?.startsWith(`  $ ${name} `) ||
        examples?.startsWith(`  $ ${name}\n`) ||
        examples === `  $ ${name}`,
      name,
    );
  }
});

test('every example of the help is a command line that is understood', async (t) => {
  const help = commandsOf(createReferenceProgram()).map(helpOf).join('\n');
  const lines = [...help.matchAll(/^ {2}\$ sluice (.*)$/gm)].map(([, line]) => line ?? '');
  t.true(lines.length > 40);
  const port = await ownPort();
  for (const line of new Set(lines)) {
    // What follows `>` is the shell's.
    const args = [...line.replace(/ > .*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    );
    // These would run a gateway here.
    if (/^(start|api|worker)\b/.test(line)) args.push('--help');
    const { code, err } = await sluice(args, {
      env: { ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN: 'token' },
      directory: new URL(repository).pathname,
    });
    t.not(code, args.includes('revoke') || args.includes('delete') ? 0 : 2, `${line}: ${err}`);
  }
});

test('a table is aligned, numbers stand right, and what is empty is a dash', (t) => {
  const rows = [
    { name: 'a', size: '1' },
    { name: 'émile', size: '1,000' },
    { name: '', size: '' },
  ];
  const columns = [
    { title: 'NAME', cell: (row: (typeof rows)[number]) => row.name },
    { title: 'SIZE', right: true, cell: (row: (typeof rows)[number]) => row.size },
  ];
  t.is(table(columns, rows, plain), 'NAME    SIZE\na          1\némile  1,000\n-          -');
});

test('control characters do not reach the terminal', (t) => {
  const columns = [{ title: 'MODEL', cell: (row: string) => row }];
  t.is(table(columns, ['\u001b[31mred\u0007\u202e\r\n'], plain), 'MODEL\n�[31mred����');
});

test('there are colours on a terminal that has them, and none with NO_COLOR or elsewhere', (t) => {
  const stdout = (isTTY: boolean) =>
    Object.assign(Object.create(process.stdout), { isTTY, hasColors: () => true });
  const painted = (isTTY: boolean, env: Record<string, string>) =>
    createStyle({ stdout: stdout(isTTY), env }).bad('x');
  t.is(painted(true, {}), '\u001b[31mx\u001b[39m');
  t.is(painted(true, { NO_COLOR: '1' }), 'x');
  t.is(painted(true, { TERM: 'dumb' }), 'x');
  t.is(painted(false, {}), 'x');
});

test('moments and spans are written for people', (t) => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  t.is(fromNow('2026-11-15T11:57:00Z', now), '3 min ago');
  t.is(fromNow('2026-11-17T12:00:00Z', now), 'in 2 d');
  t.is(fromNow('2026-11-15T12:00:00.500Z', now), 'now');
  t.is(fromNow(null, now), 'never');
  t.is(duration(20), '20 ms');
  t.regex(moment('2026-11-15T12:00:00Z'), /^2026-11-1[456] \d\d:\d\d:00 \S+$/);
});

test('time spans and moments are read, and nonsense is not', (t) => {
  t.is(parseDuration('90s'), 90_000);
  t.is(parseDuration('2w'), 14 * 86_400_000);
  for (const text of ['', '7', 'd', '-1d', '1.5h', '7 d', '1y'])
    t.throws(() => parseDuration(text), undefined, text);
  t.is(parseMoment('future')('2027-01-31'), '2027-01-31T00:00:00.000Z');
  t.is(parseMoment('future')('2027-01-31T12:00:00+01:00'), '2027-01-31T11:00:00.000Z');
  t.true(Date.parse(parseMoment('future')('1h')) > Date.now() + 3_500_000);
  for (const text of ['soon', '2027-13-01', '2027-01-31 12:00', '31.1.2027'])
    t.throws(() => parseMoment('future')(text), undefined, text);
  t.throws(() => parseMoment('future')('999999w'), { message: 'This is too far away.' });
});

test('the words for a time are read in the zone of whoever asks, and nonsense is not', (t) => {
  const now = new Date(2026, 10, 17, 10, 44, 30);
  const local = (...parts: [number, number, number, number?, number?]) => new Date(...parts).toISOString();
  const since = parseWhen('beginning', now);
  const until = parseWhen('end', now);
  for (const [text, time] of [
    ['2h ago', '2h'],
    ['7d', '7d'],
    ['today', local(2026, 10, 17)],
    ['yesterday', local(2026, 10, 16)],
    ['14:00', local(2026, 10, 17, 14)],
    ['Yesterday 9:05', local(2026, 10, 16, 9, 5)],
    ['2026-11-16', local(2026, 10, 16)],
    ['2026-11-16T18:35', local(2026, 10, 16, 18, 35)],
    ['2026-11-16 18:35', local(2026, 10, 16, 18, 35)],
    ['2026-11-16T18:35:00+02:00', '2026-11-16T16:35:00.000Z'],
  ] as const)
    t.is(since(text), time, text);
  // A day as an end is included.
  t.is(until('yesterday'), local(2026, 10, 17));
  t.is(until('2026-11-16'), local(2026, 10, 17));
  t.is(until('yesterday 15:00'), local(2026, 10, 16, 15));
  for (const text of ['', 'soon', '25:00', '2026-02-31', 'yesterdayish', '14', 'yesterday at noon'])
    t.throws(() => since(text), undefined, text);
});

test('where clocks change, days and times are those that they show', (t) => {
  const own = process.env.TZ;
  const inZone = (zone: string, is: 'beginning' | 'end', text: string, now = '2026-11-17T12:00Z') => {
    process.env.TZ = zone;
    try {
      return parseWhen(is, new Date(now))(text);
    } finally {
      if (own === undefined) delete process.env.TZ;
      else process.env.TZ = own;
    }
  };
  // Clocks go from 2:00 to 3:00, and from 3:00 back to 2:00.
  t.is(inZone('Europe/Berlin', 'beginning', '2026-03-29T02:30'), '2026-03-29T01:00:00.000Z');
  t.is(inZone('Europe/Berlin', 'end', '2026-03-29 02:30'), '2026-03-29T01:00:00.000Z');
  t.is(inZone('Europe/Berlin', 'beginning', '2026-10-25T02:30'), '2026-10-25T00:30:00.000Z');
  t.is(inZone('Europe/Berlin', 'end', '2026-10-25T02:30'), '2026-10-25T01:30:00.000Z');
  t.is(inZone('Europe/Berlin', 'end', '2026-10-25T01:30'), '2026-10-24T23:30:00.000Z');
  t.is(inZone('Europe/Berlin', 'end', '2026-10-25'), '2026-10-25T23:00:00.000Z');
  // There was no 30th of December.
  const yesterday = inZone('Pacific/Apia', 'beginning', 'yesterday', '2011-12-31T02:00:00+14:00');
  t.is(yesterday, '2011-12-29T10:00:00.000Z');
  t.is(dayIn('Pacific/Apia', 'yesterday', Date.parse('2011-12-31T02:00:00+14:00')), '2011-12-29');

  // This day has 25 hours.
  const late = Date.parse('2026-10-25T23:30:00+01:00');
  t.is(dayIn('Europe/Berlin', 'yesterday', late), '2026-10-24');
  t.is(dayIn('Europe/Berlin', 'today', late), '2026-10-25');
  t.is(dayIn('UTC', '7d'), '7d');
  for (const [text, day] of [
    ['Yesterday', 'yesterday'],
    ['7D ago', '7d'],
    ['2027-01-31t12:00:00z', '2027-01-31T12:00:00Z'],
  ] as const)
    t.is(parseDay(text), day);
});

test('a chain is written as it is read', (t) => {
  const texts = [
    'openai/gpt-4o-mini',
    'own/meta/llama-3:8b,timeout_ms=30000,max_tokens=10,retries=1',
    'openai/gpt-4o,retries=1,when=context_length',
    'openai/o1-pro,stall_timeout_ms=5000,api=responses,upstream_stream=false,on_crash=resume',
    'openai/o1,drop=seed,drop=user,rename=max_tokens:max_completion_tokens+own/a,weight=2,drop=seed',
  ];
  const chain = texts.map(parseEntry);
  t.deepEqual(chain[1], {
    provider: 'own',
    model: 'meta/llama-3:8b',
    timeout_ms: 30_000,
    max_tokens: 10,
    retries: 1,
  });
  t.like(chain[2], { retries: 1, when: 'context_length' });
  t.like(chain[3], { api: 'responses', upstream_stream: false, on_crash: 'resume' });
  t.deepEqual(chain[4], {
    one_of: [
      {
        provider: 'openai',
        model: 'o1',
        drop: ['seed', 'user'],
        rename: { max_tokens: 'max_completion_tokens' },
      },
      { provider: 'own', model: 'a', weight: 2, drop: ['seed'] },
    ],
  });
  t.is(chainText(chain), texts.join(' '));
  for (const text of [
    'gpt-4o',
    '/gpt-4o',
    'openai/',
    'openai/a,timeout=1',
    'openai/a,retries=x',
    'openai/a,api=none',
    'openai/a,upstream_stream=maybe',
    'openai/a,toString=true',
    'openai/a,',
    'openai/a,drop=',
    'openai/a,drop=a b',
    'openai/a,drop=__proto__',
    'openai/a,rename=seed',
    'openai/a,rename=seed:',
    'openai/a,rename=a:b:c',
    'openai/a,rename=seed:a,rename=seed:b',
  ])
    t.throws(() => parseEntry(text), undefined, text);
});

test('check warns of a model that its provider withdraws soon, and the shipped file names none', (t) => {
  const about = (model: string, at: string) => {
    const chain = [{ provider: 'openai', model }];
    const openai = { kind: 'openai', base_url: 'https://api.openai.com/v1' };
    const file = { providers: { openai }, workspaces: [{ id: 'demo', routes: { fast: chain } }] };
    return warningsAbout(parseConfig(file, {}), {}, { now: Date.parse(at) }).map(({ message }) => message);
  };
  const withdrawn = [
    'the provider withdraws openai/gpt-4-turbo on 2026-10-23, as far as the shipped registry knows',
  ];
  t.deepEqual(about('gpt-4-turbo', '2026-09-01'), withdrawn);
  t.deepEqual(about('gpt-4-turbo', '2027-09-01'), withdrawn);
  t.deepEqual(about('gpt-4-turbo', '2026-08-01'), []);
  t.deepEqual(about('gpt-4o', '2027-09-01'), []);

  const shipped = loadConfig(fileURLToPath(new URL('gateway.yaml', repository)), {});
  const told = warningsAbout(shipped, {}, { now: Date.parse('2026-11-15') }).map(({ message }) => message);
  t.deepEqual(
    told.filter((message) => message.includes('withdraws')),
    [],
  );
});

test('check says what a valid file holds, and what is probably not meant', async (t) => {
  const directory = folderOf(t, {
    'gateway.yaml': `
providers: { openai: { kind: openai, base_url: "https://x.example", api_key: "\${CHECK_KEY}" } }
workspaces: [{ id: demo, keys: [{ name: k }], routes: { fast: [{ provider: openai, model: unheard-of }] } }]`,
  });
  const { code, out, err } = await sluice('check', { directory });
  t.is(code, 0, err);
  t.regex(out, /warning: line 2: providers\.openai\.api_key: CHECK_KEY is not set here/);
  t.regex(out, /warning: line 3: route fast of workspace demo: .*no price for openai\/unheard-of$/m);
  t.regex(out, /warning: line 2: providers\.openai\.base_url: the address has no path; .*\/v1/);
  t.regex(out, /^gateway\.yaml is valid: 1 provider, 1 workspace, 1 route, 1 key\.$/m);
  const quiet = await sluice('check gateway.yaml --json', { directory, env: { CHECK_KEY: 'sk-1' } });
  t.like(quiet.json(), { valid: true, file: 'gateway.yaml', routes: 1, mistakes: [] });
  t.deepEqual(
    quiet.json().warnings.map(({ line }: { line: number }) => line),
    [2, 3],
  );
});

test('check shows every mistake of a file with its line, and exit status 1', async (t) => {
  const directory = folderOf(t, {
    'bad.yaml': 'workspaces: [{ id: UPPER, routes: { fast: [] } }]\nproviders: { p: { kind: opanai } }',
  });
  const { code, out, err } = await sluice('check bad.yaml', { directory });
  t.is(code, 1);
  t.is(out, '');
  t.regex(err, /^sluice: .*bad\.yaml: 4 mistakes\n/);
  t.regex(err, /line 1: workspaces\[0\]\.id: must be/);
  const json = await sluice('check bad.yaml --json', { directory });
  t.is(json.code, 1);
  t.is(json.json().valid, false);
  t.is(json.err, '', 'the result says it');
  t.deepEqual(
    json.json().mistakes.map(({ line }: { line: number }) => line),
    [2, 2, 1, 1],
  );
});

test('check says of a provider that it does not know why it cannot know whether it was added', async (t) => {
  const directory = folderOf(t, {
    'gateway.yaml': 'workspaces: [{ id: UPPER, routes: { fast: [{ provider: opnai, model: gpt-4o }] } }]',
  });
  const without = await sluice('check', { directory });
  t.is(without.code, 1);
  t.regex(without.err, /2 mistakes/);
  t.regex(
    without.err,
    /provider: must be one of openai, anthropic; did you mean openai\?\. Or it is a provider that/,
  );
  t.regex(without.err, /that is not known here, because there is no admin token/);
  const url = `http://127.0.0.1:${await ownPort()}`;
  const away = await sluice('check --json', { directory, env: { ADMIN_URL: url, ADMIN_TOKEN: 'token' } });
  const [first, second] = away.json().mistakes.map(({ message }: { message: string }) => message);
  t.regex(`${first} ${second}`, /not known here, because cannot reach the admin api at \S+ \(ECONNREFUSED\)/);
});

test('check needs a file, and a well-formed key in the environment', async (t) => {
  const directory = folderOf(t, {
    'gateway.yaml': 'workspaces: [{ id: demo, keys: [{ name: k, value: "${DEMO_KEY}" }] }]',
  });
  t.deepEqual(
    [(await sluice('check nowhere.yaml', { directory })).err, (await sluice('check', { directory })).code],
    ['sluice: there is no nowhere.yaml; name a file, or set GATEWAY_CONFIG\n', 0],
  );
  const { code, err } = await sluice('check', { directory, env: { DEMO_KEY: 'hunter2' } });
  t.is(code, 1);
  t.regex(err, /line 1: key "k" of workspace demo: the value of DEMO_KEY must be 32 to 200/);
  t.false(err.includes('hunter2'));
});

test('a gateway that is not there is a line that says where it was looked for and what to do', async (t) => {
  const url = `http://127.0.0.1:${await ownPort()}`;
  const { code, out, err } = await sluice('workspaces list', {
    env: { ADMIN_URL: url, ADMIN_TOKEN: 'token' },
  });
  t.deepEqual([code, out], [1, '']);
  t.is(
    err,
    `sluice: cannot reach the admin api at ${url} (ECONNREFUSED); start the gateway with "npm start", or set ADMIN_URL\n`,
  );
});

test('without a token anywhere it says where tokens are looked for', async (t) => {
  const { code, err } = await sluice('workspaces list');
  t.is(code, 1);
  t.regex(
    err,
    /^sluice: there is no admin token: looked for ADMIN_TOKEN, ADMIN_TOKEN_FILE or \.sluice\/admin-token.*\n$/,
  );
});

test('the token that npm start made is not sent to another machine', (t) => {
  const folder = folderOf(t, { '.sluice/admin-token': 'made-by-npm-start' });
  t.is(findAdmin({ ADMIN_URL: 'http://localhost:8081' }, folder).token, 'made-by-npm-start');
  t.throws(() => findAdmin({ ADMIN_URL: 'https://admin.example.org' }, folder), {
    message: /no admin token/,
  });
  t.is(findAdmin({ ADMIN_URL: 'https://admin.example.org', ADMIN_TOKEN: 'given' }, folder).token, 'given');
});

test('something else at the address is told from the admin api, and does not get the token twice', async (t) => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    if (request.url === '/workspaces') response.writeHead(302, { location: '/elsewhere' });
    response.end('<html>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const env = { ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN: 'token' };
  for (const command of ['workspaces list', 'limits list x']) {
    const { code, err } = await sluice(command, { env });
    t.is(code, 1);
    t.regex(err, /answered \d+ without JSON; ADMIN_URL must be the admin listener\n$/);
  }
  t.deepEqual(seen, ['/workspaces', '/workspaces/x/limits']);
  t.regex(
    (await sluice('limits list', { env: { ...env, ADMIN_URL: 'localhost:8081' } })).err,
    /ADMIN_URL must be/,
  );
});

test('the public listener at the address is told from the admin api', async (t) => {
  const error = { message: 'There is nothing at this path.', code: 'not_found' };
  const server = createServer((_, response) => response.writeHead(404).end(JSON.stringify({ error })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  for (const command of ['status', 'requests --since 1h', 'keys list']) {
    const { code, err } = await sluice(command, { env: { ADMIN_URL: url, ADMIN_TOKEN: 'token' } });
    t.deepEqual(
      [code, err],
      [1, `sluice: ${url} is not the admin api; ADMIN_URL must be the admin listener\n`],
    );
  }
});

test('sums that PostgreSQL has not all of are told from whole ones', async (t) => {
  const sums = { requests: 1, cost_usd: '0.1', estimated_usd: '0', input_tokens: 1, output_tokens: 1 };
  const total = { ...sums, cached_input_tokens: 0, cache_write_tokens: 0, unknown_bills: 0 };
  const spend = { by: ['key'], from: '2026-11-01', to: '2026-11-30', time_zone: 'UTC', total };
  let complete = false;
  const server = createServer((_, response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ ...spend, data: [{ key: 'k', ...total }], complete })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const show = () => sluice('spend --by key', { env: { ADMIN_URL: url, ADMIN_TOKEN: 'token' } });
  t.regex((await show()).err, /^sluice: not everything has arrived in PostgreSQL yet/);
  complete = true;
  const { code, out, err } = await show();
  t.deepEqual([code, err], [0, '']);
  t.regex(out, /From 2026-11-01 to 2026-11-30/);
});

test('wrong usage is one line and exit status 2', async (t) => {
  const env = { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN: 'token' };
  for (const [args, says] of [
    ['bogus', /unknown command 'bogus'/],
    ['workspaces lst', /unknown command 'lst'.*list/],
    ['routes set demo', /missing required argument 'alias'/],
    ['routes set demo fast gpt-4o', /Write <provider>\/<model>/],
    ['routes set demo fast openai/a,timeout=1', /timeout_ms=<n>, max_tokens=<n>, retries=<n>/],
    ['routes set demo fast openai/a --on-crash shrug', /Allowed choices are rerun, fail/],
    ['limits set demo', /at least one limit/],
    ['limits set demo --requests-per-minute many', /whole number/],
    ['models refresh', /--file or --url/],
    ['models set openai/x --input 1', /--input and --output/],
    ['keys set key_1', /--name, --expires, --priority or --max-priority/],
    ['keys issue demo ci --expires soon', /time span/],
    ['requests --follow --since 1h', /leave --since and --until out/],
    ['requests --follow --export csv', /cannot be used with/],
    ['spend --since 2026-02-30', /Write today, yesterday/],
    ['spend --month 2026-13', /a month such as/],
    ['spend --tz Nowhere/X --since today', /a time zone such as/],
    ['spend --by colour', /one of workspace/],
    ['statement demo --month 2026-2', /a month such as/],
    ['requests --status foo', /a status such as/],
    ['requests --min-ms abc', /a number of 0 or more/],
    ['requests --tag x', /a tag such as/],
    ['alerts add nope', /Allowed choices are budget/],
    ['reconcile --provider openai --month 2026-13', /month/],
    ['workspaces delete demo', /needs --yes/],
    ['workspaces delete .. --yes', /is no name/],
  ] as const) {
    const { code, out, err } = await sluice(args, { env });
    t.deepEqual([code, out], [2, ''], `${args}: ${err}`);
    t.regex(err.replaceAll('\n', ' '), says);
    t.true(err.startsWith('sluice: '), err);
  }
});

test('check suggests the model that was probably meant, and says that a file is empty', async (t) => {
  const directory = folderOf(t, {
    'gateway.yaml': 'workspaces: [{ id: demo, routes: { fast: [{ provider: openai, model: gpt-4o-mni }] } }]',
    'empty.yaml': '',
  });
  t.regex((await sluice('check', { directory })).out, /gpt-4o-mni; did you mean gpt-4o-mini\?$/m);
  t.regex((await sluice('check empty.yaml', { directory })).out, /^warning: the file is empty; /m);
});

test('with --json an error is one JSON object on stderr', async (t) => {
  const url = `http://127.0.0.1:${await ownPort()}`;
  const env = { ADMIN_URL: url, ADMIN_TOKEN: 'token' };
  for (const [args, status, code] of [
    ['status --json', 1, 'failed'],
    ['bogus --json', 2, 'wrong_usage'],
    ['workspaces delete demo --json', 2, 'wrong_usage'],
  ] as const) {
    const { code: exit, out, err } = await sluice(args, { env });
    t.deepEqual([exit, out], [status, ''], args);
    const { error } = JSON.parse(err);
    t.is(error.code, code, args);
    t.false(error.message.includes('\n'));
  }
});

test('help takes a command and its subcommand, and every argument is explained', async (t) => {
  const { code, out } = await sluice('help keys issue');
  t.is(code, 0);
  t.is(out, (await sluice('keys issue --help')).out);
  t.regex(out, /^Arguments:\n {2}workspace +id of the workspace$/m);
  t.regex(out, /^Environment:\n {2}ADMIN_URL and ADMIN_TOKEN /m);
  const unknown = await sluice('help keys isue');
  t.deepEqual(
    [unknown.code, unknown.err],
    [2, 'sluice: there is no command "keys isue"; did you mean issue?\n'],
  );
  for (const command of commandsOf(createReferenceProgram()))
    for (const argument of command.registeredArguments)
      t.not(argument.description, '', namesOf(command).join(' '));
});

test('a wrong command line is told what was meant, and which commands or arguments there are', async (t) => {
  const cases: [line: string, err: string][] = [
    [
      'workspce list',
      'unknown command \'workspce\'\n(Did you mean workspaces?)\n"sluice help" lists the commands.\n',
    ],
    ['queues stop x', "unknown command 'stop'\nCommands: pause, resume\n"],
    [
      'keys issue demo',
      "missing required argument 'name'\nUsage: sluice keys issue [options] <workspace> <name>\n",
    ],
    ['spend --bye model', "unknown option '--bye'\n(Did you mean --by?)\nUsage: sluice spend [options]\n"],
    ['help nokeys', 'there is no command "nokeys"; did you mean keys?\n'],
  ];
  for (const [line, expected] of cases) {
    const { code, out, err } = await sluice(line);
    t.deepEqual([code, out, err], [2, '', `sluice: ${expected}`]);
    const asJson = await sluice(`${line} --json`);
    t.is(JSON.parse(asJson.err).error.code, 'wrong_usage', line);
  }
});

test('bash completes commands, subcommands, options and choices', async (t) => {
  const { out } = await sluice('completion bash');
  const complete = (line: string) => {
    const words = line.split(' ');
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _sluice; echo "\${COMPREPLY[*]}"`;
    return spawnSync('bash', ['-c', `${out}\n${ask}`], { encoding: 'utf8' })
      .stdout.trim()
      .split(' ');
  };
  t.deepEqual(complete('sluice work'), ['worker', 'workspaces']);
  t.deepEqual(complete('sluice keys ro'), ['rotate']);
  t.deepEqual(complete('sluice keys rotate --gr'), ['--grace']);
  t.deepEqual(complete('sluice keys --json rotate demo/ci --gr'), ['--grace']);
  t.deepEqual(complete('sluice completion f'), ['fish']);
});

/** Not every machine has every shell. */
const testIn = (shell: string) =>
  spawnSync(shell, ['--version']).status === 0 ? test : skipAll(test, `${shell} is not installed`);

testIn('fish')('fish completes the same, and offers files only where a command may take one', async (t) => {
  const { out } = await sluice('completion fish');
  const complete = (line: string) =>
    spawnSync('fish', ['--no-config', '-c', `${out}\ncomplete -C '${line}'`], {
      cwd: new URL(repository).pathname,
      encoding: 'utf8',
    })
      .stdout.trim()
      .split('\n');
  t.deepEqual(complete('sluice work'), ['worker', 'workspaces']);
  t.deepEqual(complete('sluice keys ro'), ['rotate']);
  t.deepEqual(complete('sluice keys --json rotate demo/ci --gr'), ['--grace']);
  t.deepEqual(complete('sluice completion f'), ['fish']);
  t.false(complete('sluice keys ').includes('package.json'));
  t.true(complete('sluice check pack').includes('package.json'));
});

testIn('zsh')('zsh completes the same, on a terminal', async (t) => {
  const folder = folderOf(t, { _sluice: (await sluice('completion zsh')).out });
  // Each line is typed into a zsh on a terminal, with a Tab at its end, and runs what the Tab has made of it.
  const complete = (load: string, line: string) =>
    spawnSync(
      'zsh',
      [
        '-fc',
        `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'autoload -Uz compinit; ${load}; sluice() { print -r -- "<""$*"">" }; print -r -- RE""ADY'
zpty -r z out '*READY*'
zpty -w z $'${line}\t'
zpty -r z out '*<*>*'
print -r -- "\${\${out##*<}%%>*}"
zpty -d z`,
      ],
      { encoding: 'utf8', cwd: folder },
    ).stdout.trim();
  const sourced = 'compinit -D -u; source ./_sluice';
  const inPath = 'fpath=($PWD $fpath); compinit -D -u';
  for (const load of [sourced, inPath]) {
    t.is(complete(load, 'sluice keys ro'), 'keys rotate', load);
    t.is(complete(load, 'sluice keys rotate demo/ci --gr'), 'keys rotate demo/ci --grace', load);
  }
  t.is(complete(sourced, 'sluice completion f'), 'completion fish');
});

test('npx finds the command in a checkout', (t) => {
  const linked = new URL('node_modules/.bin/sluice', repository).pathname;
  const { status, stdout, stderr } = spawnSync(linked, ['check', '--json'], {
    cwd: new URL(repository).pathname,
    encoding: 'utf8',
  });
  t.is(status, 0, stderr);
  t.true(JSON.parse(stdout).valid);
});

test('the command says that it is not built, and is marked as a program', (t) => {
  const folder = folderOf(t, { 'package.json': '{"type":"module"}', 'bin/.keep': '' });
  copyFileSync(BIN, join(folder, 'bin', 'sluice.js'));
  const { status, stderr } = spawnSync(join(folder, 'bin', 'sluice.js'), [], { encoding: 'utf8' });
  t.is(status, 1);
  t.is(stderr, 'sluice: not built yet; run "npm run build" first\n');
});

test('without a wish there are as many workers as api processes, and one more where there is a core for it', (t) => {
  t.deepEqual([workersFor(1, 2), workersFor(1, 4), workersFor(3, 8)], [1, 2, 4]);
});
