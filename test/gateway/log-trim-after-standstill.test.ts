/** The first trim of the log after a gateway stood still for days removes nothing that a copy of the log lacks. */
import { startProcesses } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

const DAY = 24 * 3_600_000;
const COUNT = 500;
/** Nobody listens there: PostgreSQL and the bucket are away. */
const AWAY = '127.0.0.1:1';
const copies = {
  postgres: { DATABASE_URL: `postgres://sluice:secret@${AWAY}/sluice` },
  files: {
    ...{ LOG_FILES: 's3://logs', LOG_FILES_ENDPOINT: `http://${AWAY}` },
    ...{ AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: 'nobody' },
  },
};
for (const [copier, env] of Object.entries(copies))
  test(`a worker that starts after three days trims no entry that ${copier} lacks`, async (t) => {
    const gateway = await startProcesses({ workers: 0, requestLog: { max_entries: 50 } });
    t.teardown(() => gateway.stop());
    const { redis, names } = gateway;
    const mark = `seen:${copier}`;
    await redis.hset(names.archive, mark, Date.now() - 3 * DAY);
    await redis.xgroup('CREATE', names.requestLog, 'archive', '0', 'MKSTREAM');
    const added = redis.pipeline();
    for (let i = 0; i < COUNT; i++)
      added.xadd(names.requestLog, '*', 'entry', JSON.stringify({ id: `r${i}` }));
    await added.exec();

    await gateway.addWorker(env);
    await until('its mark', async () => Number(await redis.hget(names.archive, mark)) > Date.now() - DAY);
    t.is(await redis.xlen(names.requestLog), COUNT);
  });
