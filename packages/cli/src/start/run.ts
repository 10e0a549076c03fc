import { readEnv } from '@sluice/shared/process/env';
import { runProcess } from '@sluice/shared/process/run-process';
import { startAllInOne } from './all-in-one.js';
import { startEnv } from './env.js';
import { welcome } from './welcome.js';

export interface StartOptions {
  apis: number;
  workers: number;
  /** Whether a PostgreSQL is started too. */
  postgres?: boolean;
  /** The folder for Redis' data, and for the keys that were made. */
  data: string;
}

/** `sluice start`: runs until a signal comes, then drains. */
export async function runStart({ data, ...counts }: StartOptions): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  await runProcess('start', async () => {
    const env = readEnv(process.env, startEnv);
    const gateway = await startAllInOne({ ...counts, folder: data, env, processEnv: process.env, say });
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
}
