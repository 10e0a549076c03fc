/** `npm start -- --postgres`: a gateway that brings its PostgreSQL with it. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { chat, keyOf, makeFolder, type Run, start } from '../helpers/all-in-one.js';
import test from '../helpers/needs-postgres.js';
import { sluice } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

test('npm start -- --postgres keeps the log in the data folder, through a stop and a start', async (t) => {
  const folder = makeFolder(t);
  const cli = (command: string) =>
    sluice(command, {
      env: {
        ADMIN_URL: readFileSync(join(folder, 'admin-url'), 'utf8').trim(),
        ADMIN_TOKEN: readFileSync(join(folder, 'admin-token'), 'utf8').trim(),
      },
    });
  const stop = async (gateway: Run) => {
    gateway.child.kill('SIGINT');
    t.deepEqual(await gateway.ended, { code: 0, signal: null }, gateway.output());
    t.deepEqual(gateway.offspring(), [], 'PostgreSQL ends with it');
  };

  const first = await start(t, { folder, args: ['--postgres'] });
  t.regex(
    first.output(),
    /^PostgreSQL keeps the log and what was spent: postgres:\/\/sluice@127\.0\.0\.1:\d+\/sluice$/m,
  );
  const answer = await chat(first.port, keyOf(first.output()));
  t.is(answer.status, 200);
  const id = answer.headers.get('x-request-id') ?? '';
  await until('the request in PostgreSQL', async () => {
    const { out } = await cli('status --json');
    return JSON.parse(out).copies.postgres?.behind_ms === 0;
  });
  await stop(first);

  // Without the data of Redis, only PostgreSQL can know the request.
  rmSync(join(folder, 'redis'), { recursive: true });
  const second = await start(t, { folder, args: ['--postgres'] });
  const found = await cli(`requests ${id} --json`);
  t.like(found.json(), { id, workspace: 'demo', status: 200 }, found.err);
  await until('the list of requests', async () => {
    const { out } = await cli('requests --json');
    return out.includes(id);
  });
  await stop(second);
});
