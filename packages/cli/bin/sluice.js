#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';

// From Node 22 on, compiled code is kept between runs.
module.enableCompileCache?.();

const built = new URL('../dist/sluice.js', import.meta.url);
if (existsSync(built)) {
  const { runSluice, thisTerminal } = await import(built.href);
  process.exitCode = await runSluice(process.argv.slice(2), thisTerminal());
} else {
  process.stderr.write('sluice: not built yet; run "npm run build" first\n');
  process.exitCode = 1;
}
