#!/usr/bin/env node
import { runProcess } from '@sluice/shared/process/run-process';
import { runWorker } from './run-worker.js';

await runProcess('worker', () => runWorker(process.env));
