import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { freePort } from '@sluice/cli/start/free-port';
import { scratch, startOther } from '../children.js';
import { findProgram } from '../find-program.js';
import { MODEL, PROVIDER_KEY, type Target } from './target.js';

const MASTER_KEY = 'sk-bench-master';

/** One process with its master key as auth. Keys, budgets and logs of its own need a Postgres, and are off. */
export const litellm: Target = {
  name: 'litellm',
  title: 'LiteLLM',
  missing: () => (findProgram('litellm') ? undefined : 'no "litellm" on the PATH'),
  async start(upstreamUrl) {
    const program = findProgram('litellm') ?? 'litellm';
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const config = scratch('litellm.yaml');
    const litellm_params = { model: `openai/${MODEL}`, api_base: `${upstreamUrl}/v1`, api_key: PROVIDER_KEY };
    const general_settings = { master_key: MASTER_KEY };
    writeFileSync(
      config,
      JSON.stringify({ model_list: [{ model_name: 'bench', litellm_params }], general_settings }),
    );
    // Its price list comes from the network unless told otherwise.
    const quiet = { LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...quiet };
    const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'];
    const child = await startOther(program, args, env, `${url}/health/liveliness`);
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', env });
    return {
      url,
      version: /\d+\.\d+\.\d+\S*/.exec(stdout ?? '')?.[0] ?? '',
      caller: { key: MASTER_KEY, model: 'bench' },
      processes: [{ name: 'gateway', pid: child.pid }],
      stop: child.stop,
    };
  },
};
