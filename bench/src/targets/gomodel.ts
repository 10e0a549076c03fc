import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@sluice/cli/start/free-port';
import { scratch, startOther } from '../children.js';
import { findProgram } from '../find-program.js';
import { MODEL, PROVIDER_KEY, type Target } from './target.js';

const MASTER_KEY = 'bench-caller';

const find = () => findProgram('gomodel');

/** Settings by environment only. It keeps no usage and no log, as its defaults for the log are. */
export const gomodel: Target = {
  name: 'gomodel',
  title: 'GoModel',
  missing: () => (find() ? undefined : 'no "gomodel" on the PATH'),
  async start(upstreamUrl) {
    const program = find() ?? 'gomodel';
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const folder = scratch(`gomodel-${port}`);
    mkdirSync(folder);
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      PORT: String(port),
      GOMODEL_MASTER_KEY: MASTER_KEY,
      GOMODEL_CACHE_DIR: join(folder, 'cache'),
      SQLITE_PATH: join(folder, 'gomodel.db'),
      // An empty address: it would fetch a list of models from the internet.
      MODEL_LIST_URL: '',
      OPENAI_API_KEY: PROVIDER_KEY,
      OPENAI_BASE_URL: `${upstreamUrl}/v1`,
      OPENAI_MODELS: MODEL,
      CONFIGURED_PROVIDER_MODELS_MODE: 'allowlist',
      USAGE_ENABLED: 'false',
      LOG_LEVEL: 'error',
    };
    const child = await startOther(program, [], env, `${url}/health`);
    const { stdout } = spawnSync(program, ['-version'], { encoding: 'utf8', env, timeout: 5_000 });
    return {
      url,
      version: /^gomodel (\S+)/.exec(stdout ?? '')?.[1] ?? '',
      caller: { key: MASTER_KEY, model: `openai/${MODEL}` },
      processes: [{ name: 'gateway', pid: child.pid }],
      stop: child.stop,
    };
  },
};
