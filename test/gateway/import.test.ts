import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import { createSimulator } from '@sluice/simulator/simulator';
import { chat, makeFolder, REPOSITORY, start } from '../helpers/all-in-one.js';
import test from '../helpers/needs-redis.js';
import { sluice } from '../helpers/sluice.js';

test('a config of LiteLLM is imported and served: aliases answer, and a fallback steps in', async (t) => {
  const folder = makeFolder(t);
  copyFileSync(join(REPOSITORY, 'test/fixtures/import/litellm.yaml'), join(folder, 'litellm.yaml'));
  const made = await sluice('import litellm litellm.yaml --output gateway.yaml', { directory: folder });
  t.is(made.code, 0, made.err);

  const simulator = await createSimulator();
  t.teardown(() => simulator.close());
  const key = makeGatewayKey();
  const gateway = await start(t, {
    folder: join(folder, 'data'),
    env: {
      GATEWAY_CONFIG: join(folder, 'gateway.yaml'),
      GATEWAY_KEY: key,
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
      ANTHROPIC_BASE_URL: simulator.anthropicBaseUrl,
      TEAM_A_KEY: 'sk-test-a',
      OPENAI_API_KEY: 'sk-test-b',
      ANTHROPIC_API_KEY: 'sk-ant-test',
    },
  });
  const first = await chat(gateway.port, key, 'gpt-4');
  t.is(first.status, 200, await first.text());
  t.is(first.headers.get('x-gateway-provider'), 'openai-compatible');

  simulator.script({ match: { provider: 'openai' }, action: { status: 401 } });
  const second = await chat(gateway.port, key, 'chat');
  t.is(second.status, 200, await second.text());
  t.is(second.headers.get('x-gateway-provider'), 'anthropic');
  t.is(second.headers.get('x-gateway-fallback-used'), 'true');
});
