/** A worker process that takes another one for dead after the times in TEST_LOCKS. */
import { runProcess } from '@sluice/shared/process/run-process';
import { runWorker } from '@sluice/worker/run-worker';

const locks = JSON.parse(process.env.TEST_LOCKS ?? '');
await runProcess('worker', () => runWorker(process.env, { locks }));
