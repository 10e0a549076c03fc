import { join } from 'node:path';
import { freePort } from '@sluice/cli/start/free-port';
import { startOther } from '../children.js';
import { installRival } from '../install-rival.js';
import { MODEL, PROVIDER_KEY, type Target } from './target.js';

const VERSION = '1.15.2';

/** Keeps nothing: no auth of its own, no queue, no log. `--headless` is its fastest mode, without the console page. */
export const portkey: Target = {
  name: 'portkey',
  title: 'Portkey',
  missing: () => undefined,
  async start(upstreamUrl) {
    const folder = installRival('@portkey-ai/gateway', VERSION, console.error);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = [join(folder, 'build/start-server.js'), `--port=${port}`, '--headless'];
    const env = { PATH: process.env.PATH, NODE_ENV: 'production' };
    const child = await startOther(process.execPath, args, env, url);
    return {
      url,
      version: VERSION,
      headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstreamUrl}/v1` },
      caller: { key: PROVIDER_KEY, model: MODEL },
      processes: [{ name: 'gateway', pid: child.pid }],
      stop: child.stop,
    };
  },
};
