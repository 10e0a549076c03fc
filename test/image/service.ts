/** A service of docker-compose.yml, run from the image's files without an engine, as confined as compose would have it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Image } from './build-image.js';

export interface ServiceConfig {
  command: string[];
  environment?: Record<string, string>;
  healthcheck?: { test: string[] };
}

/**
 * A mount namespace of its own in which all of the machine is read-only, the image's files are at /mnt, and /tmp is an
 * empty tmpfs; the image's user (node, 1000), without a capability.
 */
const CONFINE = `
set -e
mount -t tmpfs tmpfs /mnt && mkdir /mnt/app && mount --bind "$0" /mnt/app && mount -o remount,ro,bind /mnt/app
mount -t tmpfs -o noexec,nosuid,nodev tmpfs /tmp && mount -o remount,ro,bind /
cd /mnt/app
exec setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set=-all --no-new-privs "$@"`;

export class Service {
  output = '';
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;

  /** `address` stands for the container's: everything that listens, listens there. */
  constructor(
    private readonly image: Image,
    private readonly config: ServiceConfig,
    private readonly address: string,
    private readonly hosts: Record<string, string>,
    extra: Record<string, string> = {},
  ) {
    this.child = this.#spawn(config.command, extra);
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    this.ended = once(this.child, 'exit');
  }

  /** As `docker compose exec` would: the same confinement and environment. The exit status, and what it printed. */
  async exec(
    command: string[],
    extra: Record<string, string> = {},
  ): Promise<{ status: number; output: string }> {
    const child = this.#spawn(command, extra);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    const [status] = await once(child, 'close');
    return { status, output };
  }

  async isHealthy(): Promise<boolean> {
    const [kind, ...command] = this.config.healthcheck?.test ?? [];
    if (kind !== 'CMD') throw new Error('a health check without a shell is expected');
    const local = command.map((word) => word.replaceAll('127.0.0.1', this.address));
    return (await this.exec(local)).status === 0;
  }

  #spawn(command: string[], extra: Record<string, string>): ChildProcess {
    const values = { ...this.image.env, ...this.config.environment, ...extra };
    const env = Object.entries(values).map(([name, value]) => [name, this.#local(interpolate(value))]);
    return spawn(
      'unshare',
      [
        '--mount',
        '--propagation',
        'private',
        'sh',
        '-c',
        CONFINE,
        join(this.image.root, this.image.workdir),
        ...command,
      ],
      { env: { PATH: process.env.PATH, ...Object.fromEntries(env) }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
  }

  #local(value: string): string {
    if (value === '0.0.0.0') return this.address;
    return value.replace(this.image.workdir, '/mnt/app').replace(/(?<=:\/\/|@)(\w+)(?=:\d)/, (whole) => {
      const address = this.hosts[whole];
      return address ?? whole;
    });
  }
}

/** `${NAME:-default}` where NAME is not set: as `docker compose up` with nothing in .env but what is required. */
export function interpolate(value: string): string {
  return value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
}
