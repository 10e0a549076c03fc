#!/usr/bin/env node
import { runSluice, thisTerminal } from '@sluice/cli/sluice';

process.exitCode = await runSluice(process.argv.slice(2), thisTerminal());
