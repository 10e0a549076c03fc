#!/usr/bin/env node
/** `npm start`, which is `sluice start`. */
import { runSluice, thisTerminal } from './sluice.js';

process.exitCode = await runSluice(['start', ...process.argv.slice(2)], thisTerminal());
