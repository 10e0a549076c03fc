/** Providers beside those of gateway.yaml: added, changed and removed by the admin api while the processes run. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { parse, stringify } from 'yaml';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
let admin: CallAdmin;
/** A server in OpenAI's format. */
const settings = () => ({ kind: 'openai', base_url: gateway.simulator.openaiBaseUrl });

test.before(async () => {
  gateway = await startGateway({ workers: 2, apis: 2 });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

const say = (model: string, url = gateway.url): Promise<ChatAnswer> =>
  gateway.chat({ model, messages: [{ role: 'user', content: 'hello' }] }, { url });
const lastKey = () => gateway.simulator.calls.at(-1)?.headers?.authorization;

/** A process knows a change after a second. Until then it does not know the model. */
async function untilServed(model: string): Promise<void> {
  for (const url of gateway.urls)
    await until(`${model} served`, async () => (await say(model, url)).status === 200);
}

test.serial(
  'an added provider serves at every process without a restart, and its key is never shown',
  async (t) => {
    const key = 'sk-added-0123456789';
    const { status, body } = await admin('PUT', '/providers/acme', { ...settings(), api_key: key });
    t.is(status, 201);
    t.like(body, { name: 'acme', source: 'added', credentials: 'stored', settings: settings() });
    await untilServed('acme/gpt-4o-mini');
    t.is(lastKey(), `Bearer ${key}`);

    const shown = [
      body,
      (await admin('GET', '/providers')).body,
      (await admin('GET', '/audit')).body,
      await gateway.redis.hgetall(gateway.names.addedProviders),
      (await sluiceOf(gateway)('providers list --json')).out,
      gateway.output(),
    ];
    t.notRegex(JSON.stringify(shown), new RegExp(key));
    const [change] = (await admin('GET', '/audit')).body.data;
    t.like(change, { action: 'PUT /providers/{provider}', path: '/providers/acme', who: 'root token' });
    const address = `${settings().base_url}/chat/completions`;
    t.deepEqual(change.after, { name: 'acme', address, ...settings(), key: 'a new one' });
  },
);

test.serial('a process that starts later knows it, too', async (t) => {
  const [first, second] = gateway.workers;
  await gateway.addWorker();
  await Promise.all([first?.end(), second?.end()]);
  gateway.workers.splice(0, 2);
  t.is((await say('acme/gpt-4o-mini')).status, 200);
});

test.serial('its key is replaced while it is called, and no call fails', async (t) => {
  t.is((await admin('PUT', '/providers/acme/key', { api_key: 'sk-second-key' })).status, 200);
  await until('a call with the second key', async () => {
    t.is((await say('acme/gpt-4o-mini')).status, 200);
    return lastKey() === 'Bearer sk-second-key';
  });
  // Other settings leave the key as it is.
  const changed = { ...settings(), concurrency: 3 };
  t.is((await admin('PUT', '/providers/acme', changed)).body.concurrency, 3);
  await untilServed('acme/gpt-4o-mini');
  t.is(lastKey(), 'Bearer sk-second-key');
});

test.serial('a stored key is not sent to another address: it has to be given again', async (t) => {
  const elsewhere = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' };
  const refused = await admin('PUT', '/providers/acme', elsewhere);
  t.is(refused.status, 400);
  t.is(refused.body.error.param, 'api_key');
  t.regex(refused.body.error.message, /only to the address that it was given for/);
  // A proxy at the address may forward the call to wherever these say.
  const turned: object[] = [
    { path: '/../other/chat' },
    { models_path: '/../other/models' },
    { query: { target: 'http://127.0.0.1:1' } },
    { headers: { 'x-forward-to': 'http://127.0.0.1:1' } },
    { auth: { header: 'x-seen' } },
  ];
  for (const turn of turned) {
    const { status, body } = await admin('PUT', '/providers/acme', { ...settings(), ...turn });
    t.deepEqual([status, body.error?.param], [400, 'api_key'], JSON.stringify(turn));
  }
  const given = await admin('PUT', '/providers/acme', { ...elsewhere, api_key: 'sk-third-key' });
  t.is(given.body.address, 'http://127.0.0.1:1/v1/chat/completions');
  // Without a key it may go anywhere.
  const without = await admin('PUT', '/providers/acme', { ...settings(), api_key: null });
  t.is(without.body.credentials, 'none');
});

test.serial(
  'the value of a header is never shown, stays when it is left as it is, and goes to no other address',
  async (t) => {
    const secret = 'of-the-header-0123';
    const given = { ...settings(), headers: { 'x-team': secret } };
    const { body } = await admin('PUT', '/providers/acme', { ...given, api_key: 'sk-one' });
    t.deepEqual(body.settings, { ...settings(), headers: { 'x-team': true } });
    const kept = await admin('PUT', '/providers/acme', { ...body.settings, concurrency: 5 });
    t.is(kept.status, 200, JSON.stringify(kept.body));
    // Until the worker knows the key, it calls without one.
    await untilServed('acme/gpt-4o-mini');
    await until('a call with the header', async () => {
      t.is((await say('acme/gpt-4o-mini')).status, 200);
      return gateway.simulator.calls.at(-1)?.headers?.['x-team'] === secret;
    });
    const elsewhere = await admin('PUT', '/providers/acme', {
      ...body.settings,
      base_url: 'http://127.0.0.1:1/v1',
      api_key: 'sk-two',
    });
    t.deepEqual([elsewhere.status, elsewhere.body.error.param], [400, 'headers.x-team']);
    await admin('PUT', '/providers/acme', { ...settings(), api_key: null });
    const shown = [
      body,
      kept.body,
      (await admin('GET', '/audit')).body,
      (await admin('GET', '/providers')).body,
    ];
    t.notRegex(JSON.stringify(shown), new RegExp(secret));
  },
);

test.serial(
  'keys are added, changed and removed one by one while it is called, and no call fails',
  async (t) => {
    const key = async (method: string, name: string, body?: object) => {
      const answer = await admin(method, `/providers/acme/keys/${name}`, body);
      t.is(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    const used = () =>
      new Set(gateway.simulator.calls.slice(-8).map(({ headers }) => headers?.authorization));
    const untilUsed = (...keys: string[]) =>
      until(`calls with ${keys}`, async () => {
        for (let i = 0; i < 8; i++)
          t.is((await say('acme/gpt-4o-mini', gateway.urls[i % gateway.urls.length])).status, 200);
        return (
          [...used()].sort().join() ===
          keys
            .map((each) => `Bearer ${each}`)
            .sort()
            .join()
        );
      });
    // The simulator refuses a call without a key, as the worker makes it until it knows this one.
    await admin('PUT', '/providers/acme', { ...settings(), api_key: 'sk-one' });
    await untilServed('acme/gpt-4o-mini');
    await untilUsed('sk-one');
    const added = await key('PUT', 'second', { api_key: 'sk-two', weight: 1 });
    t.deepEqual(added.settings.keys, [{ name: 'default' }, { name: 'second', weight: 1 }]);
    t.deepEqual(
      added.keys.map(({ name, weight }: { name: string; weight: number }) => [name, weight]),
      [
        ['default', null],
        ['second', 1],
      ],
    );
    await untilUsed('sk-one', 'sk-two');
    const limited = await key('PUT', 'second', { limits: { requests_per_minute: 5000 } });
    t.deepEqual(limited.settings.keys[1], {
      name: 'second',
      weight: 1,
      limits: { requests_per_minute: 5000 },
    });
    await key('PUT', 'second', { api_key: 'sk-three', weight: null });
    await untilUsed('sk-one', 'sk-three');
    // Other settings leave the keys as they are.
    t.is((await admin('PUT', '/providers/acme', { ...settings(), concurrency: 7 })).body.keys.length, 2);
    await key('DELETE', 'default');
    await untilUsed('sk-three');

    const refused = [
      await admin('DELETE', '/providers/acme/keys/second'),
      await admin('DELETE', '/providers/acme/keys/default'),
      await admin('PUT', '/providers/acme/key', { api_key: 'sk-x' }),
      await admin('PUT', '/providers/acme/keys/third', { weight: 2 }),
      await admin('PUT', '/providers/acme/keys/No%20Name', { api_key: 'sk-x' }),
      await admin('PUT', '/providers/none/keys/a', { api_key: 'sk-x' }),
      await admin('PUT', '/providers/openai/keys/a', { api_key: 'sk-x' }),
    ];
    t.deepEqual(
      refused.map(({ status, body }) => [status, body.error.param]),
      [
        [409, null],
        [404, null],
        [409, null],
        [400, 'api_key'],
        [400, 'name'],
        [404, null],
        [409, null],
      ],
    );
    const moved = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' };
    t.is((await admin('PUT', '/providers/acme', moved)).body.error.param, 'keys[0].api_key');
    const shown = [
      added,
      limited,
      (await admin('GET', '/audit')).body,
      (await admin('GET', '/providers')).body,
    ];
    shown.push(await gateway.redis.hgetall(gateway.names.addedProviders), gateway.output());
    t.notRegex(JSON.stringify(shown), /sk-(?:one|two|three)/);
    const [change] = (await admin('GET', '/audit')).body.data.filter(
      ({ action, after }: { action: string; after: unknown }) => action.endsWith('/keys/{key}') && after,
    );
    t.is(change.before.keys.length, 2);
  },
);

async function handOver(id: string, fields: object = {}): Promise<ProviderBatches> {
  const part = { id, batch: `batch of ${id}`, entry: { provider: 'acme', model: 'm' } };
  const record = { part: JSON.stringify(part), status: 'at_provider', ...fields };
  await gateway.redis.hset(gateway.names.providerBatch(id), record);
  await gateway.redis.zadd(gateway.names.providerBatches, Date.now() + 600_000, id);
  return new ProviderBatches(gateway.redis, gateway.names);
}

test.serial('a key that a batch needs is not removed, whichever way is tried', async (t) => {
  const keys = ['first', 'second'].map((name) => ({ name, api_key: `sk-${name}` }));
  t.is((await admin('PUT', '/providers/acme', { ...settings(), keys })).status, 200);
  const handed = await handOver('part_1', { key: 'first' });
  const ways = [
    await admin('DELETE', '/providers/acme/keys/first'),
    await admin('PUT', '/providers/acme', { ...settings(), keys: [{ name: 'second' }] }),
    await admin('PUT', '/providers/acme', { ...settings(), api_key: 'sk-third' }),
    await admin('PUT', '/providers/acme', { ...settings(), api_key: null }),
  ];
  for (const { status, body } of ways) {
    t.is(status, 409, JSON.stringify(body));
    t.regex(body.error.message, /A batch runs with the key first/);
  }
  // Another one is not needed, and the one that is may be given anew.
  t.is((await admin('DELETE', '/providers/acme/keys/second')).status, 200);
  t.is((await admin('PUT', '/providers/acme/keys/first', { api_key: 'sk-new' })).status, 200);
  await handed.remove('part_1');
});

test.serial('a provider to which a route leads cannot be removed; without one it is gone', async (t) => {
  await admin('PUT', '/workspaces/demo/routes/local', [{ provider: 'acme', model: 'gpt-4o-mini' }]);
  const refused = await admin('DELETE', '/providers/acme');
  t.is(refused.status, 409);
  t.regex(refused.body.error.message, /Routes lead to provider acme: demo\/local\. Change them first\./);
  await admin('DELETE', '/workspaces/demo/routes/local');
  const handed = await handOver('part_1');
  const busy = await admin('DELETE', '/providers/acme');
  t.is(busy.status, 409);
  t.regex(busy.body.error.message, /Provider acme runs a batch/);
  await handed.remove('part_1');
  t.is((await admin('DELETE', '/providers/acme')).status, 200);
  t.is((await admin('DELETE', '/providers/acme')).status, 404);
  for (const url of gateway.urls)
    await until('acme gone', async () => (await say('acme/gpt-4o-mini', url)).status === 404);
});

const twice = (name: string) => [1, 2].map(() => ({ name, api_key: 'sk-1' }));

test.serial('bad settings are refused with the name of the field, and nothing is stored', async (t) => {
  const manyModels = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`model-${i}`, {}]));
  const cases: [name: string, body: unknown, status: number, param: string | null, words: RegExp][] = [
    ['openai', settings(), 409, null, /is one of gateway\.yaml\. Change it there/],
    ['Bad Name', settings(), 400, 'name', /must be/],
    ['acme', { kind: 'openai' }, 400, 'base_url', /is missing/],
    [
      'acme',
      { ...settings(), base_url: 'http://${ADMIN_TOKEN}/v1' },
      400,
      'base_url',
      /must not name a variable/,
    ],
    ['acme', { preset: 'groq' }, 400, 'api_key', /this preset needs a key/],
    ['acme', { preset: 'grok', api_key: 'x' }, 400, 'preset', /did you mean groq/],
    ['acme', { preset: 'vertex', project: 'p', location: 'global' }, 400, 'preset', /needs gateway\.yaml/],
    ['acme', { ...settings(), auth: { token_file: '/etc/passwd' } }, 400, 'auth', /needs gateway\.yaml/],
    ['acme', { ...settings(), auth: { token_command: ['id'] } }, 400, 'auth', /needs gateway\.yaml/],
    ['acme', { ...settings(), api_key: 'two words' }, 400, 'api_key', /without spaces/],
    ['acme', { ...settings(), api_key: ['a'] }, 400, 'api_key', /must be/],
    ['acme', { ...settings(), keys: [] }, 400, 'keys', /a list of 1 to 64 items/],
    ['acme', { ...settings(), keys: 'a' }, 400, 'keys', /must be a list/],
    ['acme', { ...settings(), keys: [{ name: 'a' }] }, 400, 'keys[0].api_key', /is missing/],
    ['acme', { ...settings(), keys: [{ api_key: 'a' }] }, 400, 'keys[0].name', /is missing/],
    ['acme', { ...settings(), keys: twice('constructor') }, 400, 'keys[1].name', /is a duplicate/],
    [
      'acme',
      { ...settings(), keys: [{ name: 'a', api_key: 'b c' }] },
      400,
      'keys[0].api_key',
      /without spaces/,
    ],
    ['acme', { ...settings(), keys: twice('a'), api_key: 'x' }, 400, 'api_key', /is not used beside keys/],
    [
      'acme',
      { ...settings(), keys: [{ ...twice('a')[0], weight: 1001 }] },
      400,
      'keys[0].weight',
      /a whole number/,
    ],
    ['acme', { ...settings(), headers: { 'x-team': true } }, 400, 'headers.x-team', /not a boolean/],
    ['acme', { ...settings(), headers: { authorization: 'x' } }, 400, 'headers.authorization', /auth says/],
    ['acme', [], 400, 'kind', /is missing/],
    ['acme', { ...settings(), limits: { models: manyModels } }, 400, null, /at most 32768 characters/],
  ];
  for (const [name, body, status, param, words] of cases) {
    const answer = await admin('PUT', `/providers/${encodeURIComponent(name)}`, body);
    t.is(answer.status, status, JSON.stringify(body));
    t.is(answer.body.error.param, param, answer.body.error.message);
    t.regex(answer.body.error.message, words);
  }
  t.is((await admin('PUT', '/providers/acme/key', { api_key: 'x' })).status, 404);
  t.is(await gateway.redis.hlen(gateway.names.addedProviders), 0);
});

test.serial('a record that the gateway has not sealed is not used, and the processes say so', async (t) => {
  const forged = JSON.stringify({ settings: JSON.stringify({ settings: settings() }) });
  await gateway.redis.hset(gateway.names.addedProviders, 'forged', forged);
  await until('the warning', async () => {
    const { body } = await admin('GET', '/status');
    return /The added provider forged cannot be read/.test(JSON.stringify(body));
  });
  t.is((await say('forged/gpt-4o-mini')).status, 404);
  // It can still be written anew or removed.
  t.is((await admin('DELETE', '/providers/forged')).status, 200);
});

test.serial('sluice adds, changes and removes a provider', async (t) => {
  const sluice = sluiceOf(gateway);
  const { openaiBaseUrl } = gateway.simulator;
  const directory = mkdtempSync(join(tmpdir(), 'sluice-added-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'the.key'), 'sk-of-a-file\n');
  const wish = `providers set ollama --preset ollama --base-url ${openaiBaseUrl} --key-file the.key`;
  const added = await sluice(wish, { directory });
  t.is(added.code, 0, added.err);
  t.regex(
    added.out,
    /Added provider ollama: http\S+\/chat\/completions\. Every process knows it within two seconds\./,
  );
  await untilServed('ollama/gpt-4o-mini');
  t.is(lastKey(), 'Bearer sk-of-a-file');
  t.regex((await sluice('providers list')).out, /ollama +openai +\S+ +stored +added +free/);

  const changed = await sluice('providers set ollama --requests-per-minute 600 --json');
  t.deepEqual(changed.json().settings, {
    preset: 'ollama',
    base_url: openaiBaseUrl,
    limits: { requests_per_minute: 600 },
  });
  t.regex((await sluice('providers set openai --concurrency 3')).err, /is one of gateway\.yaml/);
  t.regex((await sluice('providers set v --preset vertex')).err, /Allowed choices are openai, /);
  t.regex((await sluice('providers set new')).err, /name a --preset, or a --kind and a --base-url/);
  t.regex((await sluice('providers rotate ollama /no/such/file')).err, /cannot be read \(ENOENT\)/);
  writeFileSync(join(directory, 'other.key'), 'sk-of-another-file\n');
  const pooled = await sluice('providers set-key ollama other --key-file other.key --weight 2 --json', {
    directory,
  });
  t.is(pooled.code, 0, pooled.err);
  t.deepEqual(pooled.json().settings.keys, [{ name: 'default' }, { name: 'other', weight: 2 }]);
  t.regex((await sluice('providers set-key ollama other --tokens-per-minute 9000')).out, /Stored key other/);
  t.regex((await sluice('providers list')).out, /other +open/);
  t.regex((await sluice('providers set-key ollama other')).err, /name a --key-file/);
  t.regex((await sluice('providers rotate ollama the.key', { directory })).err, /has named keys/);
  t.regex((await sluice('providers remove-key ollama default --yes')).out, /Removed key default/);
  const removed = await sluice('providers remove ollama --yes');
  t.is(removed.code, 0, removed.err);
  t.is(removed.out, 'Removed provider ollama.\n');
});

test.serial(
  'check, apply and a new start know the added providers that routes of the file name',
  async (t) => {
    await admin('PUT', '/providers/beside', { ...settings(), api_key: 'sk-beside', prices: 'openai' });
    const file = parse(readFileSync(gateway.configPath, 'utf8'));
    const before = stringify(file);
    t.teardown(() => writeFileSync(gateway.configPath, before));
    file.workspaces[0].routes = {
      ...file.workspaces[0].routes,
      aside: [{ provider: 'beside', model: 'gpt-4o-mini' }],
    };
    const write = () => writeFileSync(gateway.configPath, stringify(file));
    write();
    const { openaiBaseUrl: OPENAI_BASE_URL, anthropicBaseUrl: ANTHROPIC_BASE_URL } = gateway.simulator;
    const env = { OPENAI_BASE_URL, ANTHROPIC_BASE_URL };
    const sluice = (args: string[]) => sluiceOf(gateway)(args, { env });
    const checked = await sluice(['check', gateway.configPath]);
    t.is(checked.code, 0, checked.err);
    t.notRegex(checked.out, /no price for beside/);
    const applied = await sluice(['apply', gateway.configPath]);
    t.is(applied.code, 0, applied.err);
    await untilServed('aside');
    // The processes read the same file, and stay content with it.
    t.notRegex(JSON.stringify((await admin('GET', '/status')).body), /has mistakes/);
    await gateway.addWorker();

    file.workspaces[0].routes.aside[0].provider = 'besid';
    write();
    const wrong = await sluice(['check', gateway.configPath]);
    t.is(wrong.code, 1);
    t.regex(wrong.err, /line \d+: .*provider: must be one of .*beside; did you mean beside\?$/m);
    await admin('DELETE', `/workspaces/${file.workspaces[0].id}/routes/aside`);
    t.is((await admin('DELETE', '/providers/beside')).status, 200);
  },
);

test.serial('two admins who add one provider at once do not mix their keys', async (t) => {
  const tries = Array.from({ length: 6 }, (_, i) =>
    admin('PUT', '/providers/race', { ...settings(), api_key: `sk-race-${i}` }),
  );
  const statuses = (await Promise.all(tries)).map(({ status }) => status);
  t.true(
    statuses.every((status) => [200, 201, 409].includes(status)),
    String(statuses),
  );
  await untilServed('race/gpt-4o-mini');
  t.regex(lastKey() ?? '', /^Bearer sk-race-\d$/);
});

test.serial('only an admin of the whole gateway sees the settings of an added provider', async (t) => {
  const seenBy = async (wish: object) => {
    const { body } = await admin('POST', '/tokens', { name: 'curious', ...wish });
    const answer = await admin('GET', '/providers', undefined, { token: body.value });
    await admin('DELETE', `/tokens/${body.id}`);
    return answer.body.data.find(({ name }: { name: string }) => name === 'race').settings;
  };
  t.deepEqual(await seenBy({ role: 'admin' }), settings());
  t.is(await seenBy({ role: 'operator' }), null);
  t.is(await seenBy({ role: 'admin', workspaces: ['demo'] }), null);
});

test.serial(
  'a provider that the file names later is the one of the file, and the other can be removed',
  async (t) => {
    const file = parse(readFileSync(gateway.configPath, 'utf8'));
    file.providers.race = { ...settings(), api_key: '${OPENAI_API_KEY}' };
    writeFileSync(gateway.configPath, stringify(file));
    await admin('POST', '/reload');
    const warned = async () =>
      JSON.stringify((await admin('GET', '/status')).body).includes('Provider race was added');
    await until('the warning', warned);
    t.is((await admin('PUT', '/providers/race', settings())).status, 409);
    // Routes lead to the one of the file, so they do not matter.
    await admin('PUT', '/workspaces/demo/routes/race', [{ provider: 'race', model: 'gpt-4o-mini' }]);
    t.is((await admin('DELETE', '/providers/race')).status, 200);
    await until('no warning', async () => !(await warned()));
    t.is((await admin('DELETE', '/providers/race')).status, 409);
    t.is((await say('race')).status, 200);
  },
);

test.serial('without PAYLOAD_KEY no provider is added, because nobody would use its record', async (t) => {
  const open = await startGateway({ env: { PAYLOAD_KEY: '' } });
  t.teardown(() => open.stop());
  const { status, body } = await adminOf(open)('PUT', '/providers/ollama', { preset: 'ollama' });
  t.is(status, 409);
  t.regex(body.error.message, /PAYLOAD_KEY is not set/);
  t.is(await open.redis.hlen(open.names.addedProviders), 0);
});

test.serial('the test of an added provider does not tell what is at an internal address', async (t) => {
  const { openaiBaseUrl } = gateway.simulator;
  const [mute, empty] = [createServer(() => {}), createServer()];
  const listen = async (server: Server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const [silent, closed] = [await listen(mute), await listen(empty)];
  t.teardown(() => mute.close());
  mute.unref();
  await new Promise((resolve) => empty.close(resolve));
  const addresses: Record<string, string> = {
    silent,
    closed,
    'wrong-path': `${openaiBaseUrl}/nothing/here`,
    'by-name': closed.replace('127.0.0.1', 'localhost'),
    works: openaiBaseUrl,
    lost: 'https://no-such-host.invalid/v1',
  };
  for (const [name, base_url] of Object.entries(addresses))
    await admin('PUT', `/providers/${name}`, { kind: 'openai', base_url, api_key: 'sk-inside-0123456789' });
  await untilServed('works/gpt-4o-mini');
  const verdicts = await Promise.all(
    Object.keys(addresses).map(async (name) => {
      const { body } = await admin('POST', `/providers/${name}/test`, { model: 'gpt-4o-mini' });
      return [name, body] as const;
    }),
  );
  const { works, lost, ...inside } = Object.fromEntries(verdicts);
  t.like(works, { works: true, status: 200 });
  t.regex(lost.problem, /^https:\/\/no-such-host\.invalid cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\)$/);
  for (const [name, { works, problem, status, ms }] of Object.entries(inside)) {
    t.deepEqual(
      { works, problem, status },
      {
        works: false,
        problem: 'no completion came from this internal address; the log of the worker says why',
        status: null,
      },
      name,
    );
    t.true(ms >= 15_000, `${name} took ${ms} ms`);
  }
  t.regex(gateway.output(), /"problem":"http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)"/);
  for (const name of Object.keys(addresses)) await admin('DELETE', `/providers/${name}`);
});
