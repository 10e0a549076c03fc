/** A registry on this machine. It has what is published to it, and asks npm's own one for everything else. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { ownPort } from '../helpers/own-port.js';
import { spawnWithParent } from '../helpers/with-parent.js';
import { bringRegistry, bringTools } from './tools.js';

export interface Registry {
  url: string;
  token: string;
  stop(): void;
}

/** `node`: a Node that verdaccio runs on. */
export async function startRegistry(folder: string, node: string): Promise<Registry> {
  const config = join(folder, 'registry.yaml');
  const npm = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const everybody = { access: '$all', publish: '$authenticated' };
  writeFileSync(
    config,
    stringify({
      storage: join(folder, 'registry'),
      auth: { htpasswd: { file: join(folder, 'htpasswd') } },
      uplinks: { npm: { url: npm } },
      packages: { sluice: everybody, '**': { ...everybody, proxy: 'npm' } },
      log: { type: 'stdout', level: 'fatal' },
    }),
  );
  const url = `http://127.0.0.1:${await ownPort()}`;
  const { node: program } = await bringTools(node);
  const registry = spawnWithParent([program, await bringRegistry(), '--config', config, '--listen', url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = () => void registry.kill();
  const isUp = () =>
    fetch(`${url}/-/ping`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (registry.exitCode !== null) throw new Error('the registry has ended');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const user = await fetch(`${url}/-/user/org.couchdb.user:release`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'release', password: 'of this run only' }),
  });
  const { token } = (await user.json()) as { token: string };
  return { url, token, stop };
}

/** The command of the release workflow. A provenance statement is signed with the identity of a workflow, so it has none. */
export function publishCommand(): string {
  const workflow = parse(readFileSync(join(REPOSITORY, '.github/workflows/release.yml'), 'utf8'));
  const { run } = workflow.jobs.publish.steps.find(({ run = '' }) => run.startsWith('npm publish'));
  return run.replace(' --provenance', '');
}

/** Runs that command where the workflow has its artifacts. */
export function publish({ url, token }: Registry, version: string): void {
  execFileSync('bash', ['-c', publishCommand()], {
    cwd: join(REPOSITORY, 'build'),
    env: {
      ...process.env,
      GITHUB_REF_NAME: `v${version}`,
      npm_config_registry: url,
      npm_config_loglevel: 'error',
      [`npm_config_${url.slice('http:'.length)}/:_authToken`]: token,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
