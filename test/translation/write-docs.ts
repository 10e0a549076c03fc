/** Part of `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withMatrix } from './matrix.js';

const page = new URL('../../../docs/translation.md', import.meta.url);
writeFileSync(page, withMatrix(readFileSync(page, 'utf8')));
