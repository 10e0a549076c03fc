#!/usr/bin/env node
import { runProcess } from '@sluice/shared/process/run-process';
import { runApi } from './run-api.js';

await runProcess('api', () => runApi(process.env));
