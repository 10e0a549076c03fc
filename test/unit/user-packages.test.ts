/** The packages that Sluice was asked to be built on, and where each does its part. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { REPOSITORY } from '../helpers/all-in-one.js';

const PLACES: Readonly<Record<string, readonly string[]>> = {
  koa: ['packages/api/src/app.ts'],
  '@koa/router': ['packages/api/src/http/router.ts'],
  'koa-bodyparser': ['packages/api/src/http/read-text.ts'],
  bullmq: ['packages/worker/src/jobs/chat-worker.ts', 'packages/shared/src/queue/backend.ts'],
  ioredis: ['packages/shared/src/redis/redis.ts'],
  superstruct: ['packages/shared/src/contract/shape.ts', 'packages/shared/src/contract/quick-structs.ts'],
  // Provider calls go through undici: docs/adr/0003-undici-beside-node-fetch.md.
  'node-fetch': ['packages/cli/src/admin/client.ts', 'packages/api/src/cell/load-node-fetch.ts'],
  'prom-client': ['packages/shared/src/metrics/create.ts'],
  ava: ['test/unit/user-packages.test.ts'],
};

for (const [name, files] of Object.entries(PLACES)) {
  test(`${name} is used where it does its part`, (t) => {
    const imported = new RegExp(`(?:from |import\\(|require\\()\\s*'${name}'`);
    for (const file of files) t.regex(readFileSync(join(REPOSITORY, file), 'utf8'), imported, file);
  });
}
