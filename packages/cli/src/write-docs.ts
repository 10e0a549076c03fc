import { writeFileSync } from 'node:fs';
import { cliReference } from './cli-reference.js';

/** From dist/, where this runs. */
writeFileSync(new URL('../../../docs/cli.md', import.meta.url), cliReference());
