/** An api or a worker as a process of its own, started as `npm run api` and `npm run worker` start it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { REPOSITORY } from './all-in-one.js';
import { ownPort } from './own-port.js';
import { spawnWithParent } from './with-parent.js';

export interface Launched {
  child: ChildProcess;
  url: string;
  output(): string;
  ended: Promise<number | null>;
}

export async function launch(
  t: ExecutionContext,
  role: 'api' | 'worker',
  env: Record<string, string> = {},
): Promise<Launched> {
  const port = String(await ownPort());
  const child = spawnWithParent([process.execPath, `packages/${role}/dist/main.js`], {
    cwd: REPOSITORY,
    env: {
      PATH: process.env.PATH ?? '',
      ...(role === 'api' ? { PORT: port, METRICS_PORT: '0' } : { METRICS_PORT: port }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, url: `http://127.0.0.1:${port}`, output: () => output, ended };
}
