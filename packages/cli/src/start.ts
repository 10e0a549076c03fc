#!/usr/bin/env node
import { readEnv } from '@sluice/shared/process/env';
import { runProcess } from '@sluice/shared/process/run-process';
import { Command, InvalidArgumentError } from 'commander';
import { startAllInOne } from './start/all-in-one.js';
import { startEnv } from './start/env.js';
import { welcome } from './start/welcome.js';

const count = (text: string): number => {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('must be a whole number from 1 to 99.');
  return Number(text);
};

const options = new Command('npm start --')
  .description('Runs the whole gateway on this machine: Redis, api and worker processes.')
  .option('--apis <n>', 'number of api processes', count, 1)
  .option('--workers <n>', 'number of worker processes', count, 1)
  .option('--data <folder>', 'where Redis keeps its data', '.sluice')
  .addHelpText('after', '\nEnvironment variables are listed in the README. Ctrl-C drains and stops.')
  .parse()
  .opts<{ apis: number; workers: number; data: string }>();

const say = (line: string) => process.stdout.write(`${line}\n`);

await runProcess('start', async () => {
  const env = readEnv(process.env, startEnv);
  const gateway = await startAllInOne({
    ...options,
    folder: options.data,
    env,
    processEnv: process.env,
    say,
  });
  say(welcome(gateway));
  return {
    urls: { api: gateway.apiUrls[0] ?? '' },
    async stop() {
      say('Draining: accepted requests are answered first. Press Ctrl-C again to stop at once.');
      await gateway.stop();
      say('Stopped.');
    },
  };
});
