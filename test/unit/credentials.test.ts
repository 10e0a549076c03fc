import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig, resolveProviderKeys } from '@sluice/shared/config/config';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { LiveConfig } from '@sluice/shared/process/live-config';
import { createLogger } from '@sluice/shared/process/logger';
import { hideSecrets } from '@sluice/worker/calls/hide-secrets';
import { parseToken, RefreshedSecret } from '@sluice/worker/calls/refreshed-secret';
import { StopSignal } from '@sluice/worker/calls/stop-signal';
import test from 'ava';
import { callStandIn } from '../helpers/call-stand-in.js';
import { type StandIn, startStandIn } from '../helpers/stand-in.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-credentials-'));
const newFile = (content: string): string => {
  const path = join(folder, randomUUID());
  writeFileSync(path, content);
  return path;
};
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const never = () => {};

test('a token says its end as clouds do: in JSON, or in the claims of a JWT', (t) => {
  const end = inAnHour();
  const claims = Buffer.from(JSON.stringify({ exp: end })).toString('base64url');
  t.deepEqual(parseToken('ya29.abc\n'), { value: 'ya29.abc', expires: undefined });
  t.is(parseToken(`eyJh.${claims}.sig`).expires, end * 1000);
  t.is(parseToken(JSON.stringify({ accessToken: 'a', expires_on: end })).expires, end * 1000);
  t.is(parseToken(JSON.stringify({ token: 'a', expiry: '2030-01-01T00:00:00Z' })).expires, 1_893_456_000_000);
  const { value, expires = 0 } = parseToken(JSON.stringify({ access_token: 'a', expires_in: 3599 }));
  t.is(value, 'a');
  t.true(Math.abs(expires - Date.now() - 3_599_000) < 60_000);
});

test('what cannot be a token is refused, and not quoted', (t) => {
  for (const text of ['', ' \n', 'two words', 'line\nline', '{"access_token":1}', '{"secret', 'schlüssel']) {
    const error = t.throws(() => parseToken(text));
    t.false(text.trim() !== '' && error.message.includes(text.trim()));
  }
});

test('a token is kept until it is near its end, and fetched by one command for all who wait', async (t) => {
  const count = newFile('');
  const command = ['sh', '-c', `echo x >> ${count}; echo token-$(wc -l < ${count})`];
  const secret = new RefreshedSecret({ command }, undefined, parseToken, never);
  t.deepEqual(await Promise.all([secret.current(), secret.current(), secret.current()]), [
    'token-1',
    'token-1',
    'token-1',
  ]);
  t.is(secret.current(), 'token-1');
  t.is(readFileSync(count, 'utf8'), 'x\n');
  t.true(await secret.renew());
  t.is(secret.current(), 'token-2');
});

test('a token near its end is fetched in the background, while the old one is used', async (t) => {
  let fetched = 0;
  const ended = new Promise<void>((resolve) => {
    const command = ['echo', 'x'];
    const parse = (): { value: string; expires: number } => {
      fetched++;
      // Its whole life has passed but for a fifth, so it is fetched anew at the next call.
      return { value: `token-${fetched}`, expires: Date.now() + (fetched === 1 ? 5_000 : 3_600_000) };
    };
    const secret = new RefreshedSecret({ command }, undefined, parse, () => {
      if (fetched === 2) resolve();
    });
    const ask = async () => {
      const value = await secret.current();
      t.true(value === 'token-1' || value === 'token-2');
      if (fetched < 2) setTimeout(ask, 100);
    };
    void ask();
  });
  await ended;
  t.is(fetched, 2);
});

test('a source that fails leaves the token that is still good, and says in words what is wrong', async (t) => {
  const file = newFile('good-token');
  const errors: string[] = [];
  const secret = new RefreshedSecret({ file }, 60_000, parseToken, (error) =>
    errors.push(String(error ?? 'ok')),
  );
  t.is(await secret.current(), 'good-token');
  writeFileSync(file, 'x'.repeat(65 * 1024));
  t.false(await secret.renew());
  t.is(secret.current(), 'good-token');
  t.deepEqual(errors, ['ok', 'Error: the token file is larger than 64 KiB']);
});

for (const [title, source, words] of [
  ['a file that is not there', { file: '/no/such/file' }, /cannot be read \(ENOENT\)/],
  ['a folder', { file: folder }, /is no file/],
  ['a command that is not there', { command: ['/no/such/command'] }, /failed \(ENOENT\)/],
  ['a command that fails', { command: ['sh', '-c', 'echo secret-word >&2; exit 3'] }, /failed \(3\)$/],
  ['a command that prints without end', { command: ['yes'] }, /printed too much|maxBuffer|ERR_CHILD/],
] as const) {
  test(`there is no token from ${title}, and the reason has no secret`, async (t) => {
    let reason = '';
    const secret = new RefreshedSecret(source, undefined, parseToken, (error) => {
      reason = String(error);
    });
    t.is(await secret.current(), undefined);
    t.regex(reason, words);
    t.notRegex(reason, /secret-word/);
  });
}

const OPEN: StandIn = {
  kind: 'openai',
  path: '/v1/chat/completions',
  headers: { authorization: 'Bearer {key}' },
  wrongPath: [404, { error: { message: 'no such path' } }],
  wrongKey: [401, { error: { message: 'the token was withdrawn' } }],
  unknownModel: () => [404, { error: { message: 'no such model' } }],
};

function provider(auth: object): ProviderConfig {
  const own = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', auth };
  const [config] = parseConfig({ providers: { own } }, {}).providers.values();
  if (!config) throw new Error('no provider was read');
  return config;
}

test('after a 401 the token is fetched once more, and the call is made again with the new one', async (t) => {
  const script = join(folder, 'token.sh');
  const state = newFile('');
  writeFileSync(
    script,
    `#!/bin/sh\necho x >> ${state}; [ $(wc -l < ${state}) -gt 1 ] && echo new || echo old\n`,
  );
  chmodSync(script, 0o700);
  const standIn = await startStandIn(OPEN, 'gpt-4o', () => 'new');
  t.teardown(() => standIn.close());
  const call = { origin: standIn.origin, model: 'gpt-4o', key: '', command: [script] };
  const { failure, response } = await callStandIn(provider({ token_command: ['x'] }), call);
  t.is(failure, undefined);
  t.truthy(response);
  t.is(readFileSync(state, 'utf8'), 'x\nx\n');
});

test('a model named after a step in a path is not called', async (t) => {
  const standIn = await startStandIn({ ...OPEN, path: '/v1/{model}/chat' }, 'gpt-4o');
  t.teardown(() => standIn.close());
  const own = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', path: '/{model}/chat' };
  const [config] = parseConfig({ providers: { own } }, {}).providers.values();
  if (!config) throw new Error('no provider was read');
  for (const model of ['..', '.']) {
    const { failure } = await callStandIn(config, { ...standIn, model, key: 'k' });
    t.is(failure?.code, 'model_not_found');
  }
  t.deepEqual(standIn.calls, []);
});

test('a token that stays the same after a 401 is not tried again', async (t) => {
  let asked = 0;
  const standIn = await startStandIn(OPEN, 'gpt-4o', () => {
    asked++;
    return 'another';
  });
  t.teardown(() => standIn.close());
  const { failure } = await callStandIn(provider({ token_command: ['x'] }), {
    ...standIn,
    model: 'gpt-4o',
    key: 'k',
  });
  t.is(failure?.outcome, 'auth');
  t.is(asked, 1);
});

test('a token command that hangs holds a call neither beyond its time nor after its caller has gone', async (t) => {
  const call = { origin: 'http://127.0.0.1:1', model: 'gpt-4o', key: '', command: ['sleep', '60'] };
  const hanging = provider({ token_command: ['x'] });
  const late = await callStandIn(hanging, { ...call, timeoutMs: 50 });
  t.is(late.failure?.outcome, 'timeout');
  t.is(late.billUnknown, undefined, 'nothing was sent');
  const signal = new StopSignal();
  const calling = callStandIn(hanging, { ...call, signal });
  signal.stop('cancelled');
  t.is((await calling).failure?.outcome, 'cancelled');
});

test('credentials of AWS are rotated by writing their files', (t) => {
  const file = newFile('first');
  const env = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY_FILE: file };
  const providers = {
    signed: { preset: 'bedrock', auth: { sigv4: true } },
    own: { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' },
  };
  const live = new LiveConfig({
    file: newFile(''),
    logger: createLogger('test', 'silent'),
    load() {
      const config = parseConfig({ providers }, env);
      return { config, keys: resolveProviderKeys(config, env), env };
    },
  });
  const changed: string[] = [];
  live.onChange((changes) => changed.push(...changes.map(({ name }) => name)));
  t.is(live.reload('test'), 'unchanged');
  writeFileSync(file, 'second');
  t.is(live.reload('test'), 'changed');
  t.deepEqual(changed, ['signed']);
  writeFileSync(file, '');
  t.is(live.reload('test'), 'failed', 'half of the credentials would be refused');
});

test('a key is hidden in every form and at every place of an error, and other words stay', (t) => {
  const key = 'sk-ant-api03-Ab_9/+xYz0123456789-Ab_9/+xYz';
  const shown = (text: string) => hideSecrets([key, 'short-key'])('message', text);
  for (const before of ['', 'a', 'ab', 'abc', 'user:'])
    for (const form of ['base64', 'base64url', 'hex'] as const)
      for (const after of ['', '!', 'and more']) {
        const encoded = Buffer.from(`${before}${key}${after}`).toString(form);
        const left = String(shown(`<${encoded}>`));
        t.true(left.includes('[redacted]'), `${form} of ${before}${key}${after}`);
        t.true(left.length < 40, left);
      }
  t.is(shown(`the key ${key} is wrong`), 'the key [redacted] is wrong');
  t.is(shown(`of ${encodeURIComponent(key)}.`), 'of [redacted].');
  t.is(shown(key.slice('sk-ant-api03-'.length)), '[redacted]');
  t.is(shown('short-key, and key'), '[redacted], and key');
  const words = 'Rate limit reached for gpt-4o in sk-ant, try again in 20ms.';
  t.is(shown(words), words);
  const hide = hideSecrets([key]);
  t.is(hide('a', 'x'.repeat(60_000)), 'x'.repeat(60_000));
  t.is(hide('b', 'y'.repeat(10_000)), '', 'what is too long to be searched is not shown');
});
