import { POSTGRES } from '@sluice/cli/start/find-postgres';
import { REDIS } from '@sluice/cli/start/find-redis';
import { testNeeding } from './test-needing.js';

/** The `test` of every test that starts a PostgreSQL. */
const test = testNeeding(REDIS, POSTGRES);
export default test;
