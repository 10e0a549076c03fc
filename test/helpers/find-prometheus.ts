/** Debian's Prometheus: found, or installed as `npm start` installs Redis. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const INSTALL = ['install', '-y', '--no-install-recommends', 'prometheus'];

export interface PrometheusPrograms {
  prometheus: string;
  promtool: string;
}

export function findOrInstallPrometheus(): PrometheusPrograms {
  const found = find();
  if (found) return found;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    // Another test may be installing it: apt waits for its turn. The service is not to be started.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const apt = (args: string[]) =>
      spawnSync('/usr/bin/apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], { env, encoding: 'utf8' });
    if (apt(INSTALL).status !== 0) apt(['update']);
    const { stderr } = apt(INSTALL);
    const installed = find();
    if (installed) return installed;
    throw new Error(`"apt-get ${INSTALL.join(' ')}" did not bring Prometheus:\n${stderr}`);
  }
  throw new Error('no Prometheus found; on Debian: sudo apt-get install --no-install-recommends prometheus');
}

function find(): PrometheusPrograms | undefined {
  for (const folder of ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']) {
    const [prometheus, promtool] = [`${folder}/prometheus`, `${folder}/promtool`];
    if (existsSync(prometheus) && existsSync(promtool)) return { prometheus, promtool };
  }
  return undefined;
}
