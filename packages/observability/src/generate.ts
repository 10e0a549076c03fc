#!/usr/bin/env node
/** `npm run docs`: writes every file that is made from code. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { generatedFiles } from './generated.js';

const repository = new URL('../../../', import.meta.url);
for (const [path, text] of generatedFiles()) {
  const file = new URL(path, repository);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
  console.log(path);
}
