import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '@sluice/cli/start/free-port';
import { scratch, startOther } from '../children.js';
import { findProgram } from '../find-program.js';
import { MODEL, PROVIDER_KEY, type Target } from './target.js';

const PRICES = {
  [MODEL]: {
    provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 1.5e-7,
    output_cost_per_token: 6e-7,
  },
};

const find = () => findProgram('bifrost-http', 'bifrost');

/** File configuration only: no database, no log store. Its limits are set as far away as Sluice's. */
export const bifrost: Target = {
  name: 'bifrost',
  title: 'Bifrost',
  missing: () => (find() ? undefined : 'no "bifrost-http" or "bifrost" on the PATH'),
  async start(upstreamUrl) {
    const program = find() ?? 'bifrost-http';
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const folder = scratch(`bifrost-${port}`);
    mkdirSync(folder);
    const openai = {
      keys: [{ name: 'bench', value: PROVIDER_KEY, models: ['*'], weight: 1 }],
      network_config: { base_url: upstreamUrl, default_request_timeout_in_seconds: 120 },
      concurrency_and_buffer_size: { concurrency: 4_096, buffer_size: 16_384 },
    };
    // Without these files it fetches both from the internet, and does not start where there is none.
    const files = { pricing_url: PRICES, model_parameters_url: {} };
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(folder, name), JSON.stringify(content));
    const pricing = Object.fromEntries(
      Object.keys(files).map((name) => [name, pathToFileURL(join(folder, name)).href]),
    );
    writeFileSync(
      join(folder, 'config.json'),
      JSON.stringify({
        client: { enable_logging: false, drop_excess_requests: false },
        providers: { openai },
        framework: { pricing },
        config_store: { enabled: false },
        logs_store: { enabled: false },
      }),
    );
    const args = ['-app-dir', folder, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'];
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    const child = await startOther(program, args, env, `${url}/health`);
    const { stdout } = spawnSync(program, ['-version'], { encoding: 'utf8', env, timeout: 5_000 });
    return {
      url,
      version: /\d+\.\d+\.\d+\S*/.exec(stdout ?? '')?.[0] ?? '',
      caller: { key: PROVIDER_KEY, model: `openai/${MODEL}` },
      processes: [{ name: 'gateway', pid: child.pid }],
      stop: child.stop,
    };
  },
};
