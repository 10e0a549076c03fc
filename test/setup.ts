/** The step before the tests. */
import { setUp } from './helpers/set-up.js';

if (!setUp((line) => process.stdout.write(`${line}\n`))) process.exitCode = 1;
