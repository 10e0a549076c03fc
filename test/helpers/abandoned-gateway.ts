/** The program of a test that will be killed: it starts all that tests start, and tells the process ids. */
import { startRealGateway } from './gateway.js';
import { startSentinel } from './sentinel.js';

const gateway = await startRealGateway();
const sentinel = await startSentinel(gateway.redisServer.url);
const children = [...gateway.apis, ...gateway.workers].map(({ child }) => child);
// One that cannot notice anything by itself.
children.at(-1)?.kill('SIGSTOP');
process.send?.([
  gateway.redisServer.pid,
  sentinel.replica.pid,
  sentinel.pid,
  ...children.map(({ pid }) => pid),
]);
