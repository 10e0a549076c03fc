import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Gateway } from './gateway.js';
import { withParent } from './with-parent.js';

/** As deploy/upgrade.sh runs it in a rollback, before the newer workers end. */
export async function waitForNewerJobs(
  { redisServer, cell, configPath, simulator }: Gateway,
  seconds: number,
): Promise<{ code: number; said: string }> {
  const program = fileURLToPath(import.meta.resolve('@sluice/cli/apply/wait-for-newer-jobs'));
  const env = {
    PATH: process.env.PATH,
    REDIS_URL: redisServer.url,
    SLUICE_CELL: cell,
    GATEWAY_CONFIG: configPath,
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
    ANTHROPIC_BASE_URL: simulator.anthropicBaseUrl,
  };
  const [node = '', ...args] = [...withParent(), process.execPath, program, String(seconds)];
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout?.on('data', (part) => {
    said += part;
  });
  const [code] = await once(child, 'close');
  return { code, said };
}
