/** KEY_PEPPER: what Redis holds of a workspace key tells nothing without a secret that Redis does not hold. */
import { createHash } from 'node:crypto';
import { applyConfig } from '@sluice/cli/apply/apply-config';
import { loadConfig } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { readEnv } from '@sluice/shared/process/env';
import { pepperEnv } from '@sluice/shared/process/shared-env';
import { RedisClock } from '@sluice/shared/redis/clock';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { makeSecretKey } from '../helpers/secret-key.js';
import { until } from '../helpers/until.js';

const ask = (gateway: Gateway, api = 0) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] },
    { url: gateway.urls[api] ?? '' },
  );

const fieldsOf = ({ redis, names }: Gateway) => redis.hkeys(names.keys);

test('Redis holds neither a key, nor most of it, nor an unkeyed digest of it', async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.stop());
  t.is((await ask(gateway)).status, 200);
  const contents = await readEverything(gateway.redis, `{${gateway.cell}}:*`);
  for (const algorithm of ['sha1', 'sha256', 'sha512'])
    t.false(contents.includes(createHash(algorithm).update(gateway.key).digest('hex')), algorithm);
  for (let i = 0; i + 8 <= gateway.key.length; i++) {
    const part = gateway.key.slice(i, i + 8);
    t.false(part !== 'gw_live_' && contents.includes(part), part);
  }
});

test('a secret is set and changed without refusing a key, and apply brings own values under the new one', async (t) => {
  const [first, second] = [makeSecretKey(), makeSecretKey()];
  const gateway = await startGateway({ env: { KEY_PEPPER: '' } });
  t.teardown(() => gateway.stop());
  const [plain = ''] = await fieldsOf(gateway);
  t.regex(plain, /^[0-9a-f]{64}$/);

  await gateway.addApi({ KEY_PEPPER: `none,${first}` });
  t.is((await ask(gateway, 1)).status, 200);
  await gateway.apis[0]?.end();
  await gateway.addApi({ KEY_PEPPER: first });
  t.is((await ask(gateway, 2)).status, 200);

  await applyWith(gateway, first);
  const [keyed = '', ...others] = await fieldsOf(gateway);
  t.deepEqual(others, []);
  t.regex(keyed, /^[0-9a-f]{8}:[0-9a-f]{64}$/);
  t.is((await ask(gateway, 2)).status, 200);

  await gateway.addApi({ KEY_PEPPER: `${first},${second}` });
  await gateway.apis[1]?.end();
  await gateway.apis[2]?.end();
  await gateway.addApi({ KEY_PEPPER: `${second},${first}` });
  t.is((await ask(gateway, 4)).status, 200);
});

async function applyWith(gateway: Gateway, pepper: string): Promise<void> {
  const clock = new RedisClock(gateway.names);
  await clock.synchronise(gateway.redis);
  const { openaiBaseUrl, anthropicBaseUrl } = gateway.simulator;
  const env = {
    OPENAI_BASE_URL: openaiBaseUrl,
    ANTHROPIC_BASE_URL: anthropicBaseUrl,
    TEST_KEY_0: gateway.key,
  };
  const config = loadConfig(gateway.configPath, env);
  const digests = new KeyDigests(readEnv({ KEY_PEPPER: pepper }, pepperEnv).KEY_PEPPER);
  const directory = new Directory(gateway.redis, gateway.names, []);
  await applyConfig(config, env, directory, clock, digests);
}

test('an api process whose secret does not fit the others does not start, and says so', async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.stop());
  const other = makeSecretKey();
  // It starts when the others have stopped for seconds, because they count as gone then.
  const error: Error = await until('one that does not start', () =>
    gateway.addApi({ KEY_PEPPER: other }, { ownProcess: true }).then(
      (api) => api.end().then(() => undefined),
      (error) => error,
    ),
  );
  t.regex(error.message, /KEY_PEPPER does not fit: .* writes with key [0-9a-f]{8}, which .* does not hold/);
  t.false(error.message.includes(other));
});

test('a process without the secret says once that digests are plain', async (t) => {
  const gateway = await startGateway({ env: { KEY_PEPPER: '' } });
  t.teardown(() => gateway.stop());
  t.is((await ask(gateway)).status, 200);
  const lines = () => gateway.output().split('KEY_PEPPER is not set').length - 1;
  t.is(await until('the line', () => lines() || undefined), 1);
});
