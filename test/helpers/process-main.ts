/** An api or a worker process with other times than an operator can set: `process-main.js <role> <internals as JSON>`. */
import { runProcess } from '@sluice/shared/process/run-process';
import { run } from './test-process.js';

const [role = '', internals = '{}'] = process.argv.slice(2);
if (role !== 'api' && role !== 'worker') throw new Error(`no role: ${role}`);
await runProcess(role, () => run(role, process.env, JSON.parse(internals)));
