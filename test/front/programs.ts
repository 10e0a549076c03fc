/** Caddy and oauth2-proxy, as their own programs with the files of deploy/. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTool, type Tool } from '@sluice/cli/start/tools';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { until } from '../helpers/until.js';
import { withParent } from '../helpers/with-parent.js';

export const CADDY: Tool = {
  name: 'Caddy',
  programs: ['caddy'],
  packages: ['caddy'],
  elsewhere: 'install Caddy so that "caddy" is on the PATH',
};
export const OAUTH2_PROXY: Tool = {
  name: 'oauth2-proxy',
  programs: ['oauth2-proxy'],
  packages: [],
  elsewhere: 'install oauth2-proxy so that "oauth2-proxy" is on the PATH',
};

const CADDYFILE = join(REPOSITORY, 'deploy/caddy/Caddyfile');
const OAUTH2_PROXY_FILE = join(REPOSITORY, 'deploy/oauth2-proxy/oauth2-proxy.cfg');

export interface Program {
  log(): string;
  stop(): Promise<void>;
}

/** What Caddy says of the file as it stands, and whether it takes it. */
export function validateCaddyfile(): { ok: boolean; text: string } {
  const args = ['validate', '--adapter', 'caddyfile', '--config', CADDYFILE];
  const { status, stdout, stderr } = spawnSync(pathOf(CADDY), args, { encoding: 'utf8' });
  return { ok: status === 0, text: `${stdout}${stderr}` };
}

/** For names under .localhost Caddy signs certificates itself. Its authority is in the folder, and not in the system. */
export async function startCaddy(
  folder: string,
  port: number,
  env: Record<string, string>,
): Promise<Program & { authority: string }> {
  const file = join(folder, 'Caddyfile');
  const own = `{\n\tskip_install_trust\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port ${port}\n}\nimport ${CADDYFILE}\n`;
  writeFileSync(file, own);
  const args = ['run', '--adapter', 'caddyfile', '--config', file];
  const caddy = startProgram(pathOf(CADDY), args, { ...env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder });
  await until('Caddy has its certificates', () => {
    caddy.mustRun();
    return caddy.log().match(/certificate obtained successfully/g)?.length === 2;
  });
  return { ...caddy, authority: readFileSync(join(folder, 'caddy/pki/authorities/local/root.crt'), 'utf8') };
}

export async function startOauth2Proxy(
  address: string,
  upstream: string,
  env: Record<string, string>,
): Promise<Program> {
  const args = ['--config', OAUTH2_PROXY_FILE, '--http-address', address, '--upstream', upstream];
  const proxy = startProgram(pathOf(OAUTH2_PROXY), args, env);
  await until('oauth2-proxy answers', async () => {
    proxy.mustRun();
    return (await fetch(`http://${address}/ping`).catch(() => undefined))?.ok;
  });
  return proxy;
}

function pathOf(tool: Tool): string {
  const path = findTool(tool);
  if (path === undefined) throw new Error(`there is no ${tool.name}: ${tool.elsewhere}`);
  return path;
}

function startProgram(program: string, args: string[], env: Record<string, string>) {
  const [first = '', ...rest] = [...withParent('TERM'), program, ...args];
  const child: ChildProcess = spawn(first, rest, {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (part: Buffer) => {
      log += part.toString();
    });
  const ended = once(child, 'exit');
  return {
    log: () => log,
    mustRun: () => {
      if (child.exitCode !== null) throw new Error(`${program} ended:\n${log.slice(-2000)}`);
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
    },
  };
}
