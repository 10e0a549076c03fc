import { REDIS } from '@sluice/cli/start/find-redis';
import { testNeeding } from './tools.js';

/** The `test` of every test that starts a Redis. */
const test = testNeeding(REDIS);
export default test;
