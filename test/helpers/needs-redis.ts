import { REDIS } from '@sluice/cli/start/find-redis';
import { testNeeding } from './test-needing.js';

/** The `test` of every test that starts a Redis. */
const test = testNeeding(REDIS);
export default test;
