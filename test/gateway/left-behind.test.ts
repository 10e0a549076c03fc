/** A test that ends badly, and the processes that it had started. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isRunning, makeFolder } from '../helpers/all-in-one.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';
import { withParent } from '../helpers/with-parent.js';

const PROGRAM = fileURLToPath(new URL('../helpers/abandoned-gateway.js', import.meta.url));

const linuxTest = withParent().length > 0 ? test : test.skip;

for (const signal of ['SIGKILL', 'SIGTERM'] as const)
  linuxTest(`a test that is ended by ${signal} leaves no process behind`, async (t) => {
    const child = fork(PROGRAM, { env: { ...process.env, TMPDIR: makeFolder(t) } });
    const [pids]: number[][] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('it did not start'))),
    ]);
    t.is(pids?.length, 5, 'two Redis servers, a Sentinel, an api and a worker');
    t.true(pids?.every(isRunning));
    child.kill(signal);
    await until('none of them runs', () => !pids?.some(isRunning));
  });
