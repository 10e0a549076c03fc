/** The container engine of this machine, and the project's compose file in it under names and ports of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const PROJECT = 'sluice-containers';
/** This machine, as a container calls it. */
const HOST = 'host.docker.internal';

/** The one of the tests, with the Node of the image that is built. */
const BUCKET_SERVER = {
  image: 'node:24-bookworm-slim',
  command: [
    ...['node', '/srv/node_modules/s3rver/bin/s3rver.js', '--address', '0.0.0.0', '--port', '9000'],
    ...['--directory', '/tmp/bucket', '--no-vhost-buckets', '--configure-bucket', 'sluice'],
  ],
  volumes: [`${join(repository, 'node_modules')}:/srv/node_modules:ro`],
  networks: ['egress'],
};

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: repository,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { ok: status === 0, output: (stdout ?? '').trim(), text: `${stdout ?? ''}${stderr ?? ''}`.trim() };
}

/** What keeps this machine from running containers, or undefined. */
export function whatIsMissing(): string | undefined {
  if (!run('docker', ['info']).ok) return 'no container engine answers (docker info)';
  if (!run('openssl', ['version']).ok) return 'there is no openssl';
  return composeCommand() ? undefined : 'there is no docker compose';
}

function composeCommand(): string[] | undefined {
  if (run('docker', ['compose', 'version']).ok) return ['docker', 'compose'];
  return run('docker-compose', ['version']).ok ? ['docker-compose'] : undefined;
}

/** A certificate for 127.0.0.1, with its key, as HAProxy reads it. Returns the certificate. */
function makeCertificate(folder: string): string {
  mkdirSync(folder);
  const [key, certificate] = [join(folder, '../key'), join(folder, '../certificate')];
  const made = run('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
  ]);
  if (!made.ok) throw new Error(made.text);
  const text = readFileSync(certificate, 'utf8');
  writeFileSync(join(folder, 'sluice.pem'), text + readFileSync(key, 'utf8'));
  // The balancer's user is another one.
  for (const path of [join(folder, '..'), folder]) chmodSync(path, 0o755);
  chmodSync(join(folder, 'sluice.pem'), 0o444);
  return text;
}

export class Stack {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-containers-'));
  #backups = 0;
  readonly #options: string[];
  readonly #compose: string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly settings: Record<string, string>;
  /** What signs the balancer's certificate: itself. */
  readonly authority: string;
  /** Services whose image is neither here nor to be pulled. */
  readonly leftOut: string[];

  constructor(ports: Record<string, number>) {
    this.#compose = composeCommand() ?? [];
    const envFile = join(this.#folder, 'env');
    const made = run('sh', [join(repository, 'deploy/make-env.sh'), envFile]);
    if (!made.ok) throw new Error(made.text);
    const settings = Object.fromEntries(
      readFileSync(envFile, 'utf8')
        .split('\n')
        .filter((line) => /^\w+=/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    for (const [name, port] of Object.entries(ports)) settings[name] = String(port);
    const certificates = join(this.#folder, 'certificates');
    this.authority = makeCertificate(certificates);
    Object.assign(settings, { CERTIFICATES: certificates, TLS_BIND: '127.0.0.1' });
    this.settings = settings;
    settings.ALERTS_WEBHOOK_URL = `http://${HOST}:${ports.ALERTS_PORT}/`;
    this.leftOut = ['grafana', 'prometheus', 'alertmanager'].filter((service) => !this.#hasImage(service));
    const override = join(this.#folder, 'override.yml');
    const out = this.leftOut.map((service) => [service, { profiles: ['left-out'] }]);
    const services = { alertmanager: { extra_hosts: [`${HOST}:host-gateway`] }, ...Object.fromEntries(out) };
    // JSON is YAML.
    writeFileSync(override, JSON.stringify({ services }));
    // The environment wins over the .env of the checkout.
    this.#env = { DOCKER_BUILDKIT: '1', COMPOSE_DOCKER_CLI_BUILD: '1', ...process.env, ...settings };
    this.#options = ['-p', PROJECT];
    for (const file of ['docker-compose.yml', 'deploy/compose/tls.yml', 'examples/compose.yml', override])
      this.#options.push('-f', file);
  }

  #hasImage(service: string): boolean {
    const compose = readFileSync(join(repository, 'docker-compose.yml'), 'utf8');
    const image = new RegExp(`^  ${service}:\\n    image: (\\S+)`, 'm').exec(compose)?.[1] ?? '';
    return run('docker', ['image', 'inspect', image]).ok || run('docker', ['pull', '-q', image]).ok;
  }

  /** From now on the files of batches are in a bucket, which a server beside the others has. */
  useBucket(): void {
    const file = join(this.#folder, 'bucket-server.yml');
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ services: { bucket: BUCKET_SERVER } }));
    this.#options.push('-f', 'deploy/compose/bucket.yml', '-f', file);
    Object.assign(this.#env, {
      FILES_BUCKET: 's3://sluice/files',
      FILES_ENDPOINT: 'http://bucket:9000',
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    });
  }

  /** From now on Redis is a Cluster, with volumes of its own. */
  useCluster(): void {
    this.#options.push('-f', 'deploy/compose/cluster.yml');
  }

  /** How many objects are in the bucket. */
  objects(): number {
    const find = ['find', '/tmp/bucket/sluice/files', '-name', '*_object'];
    return this.compose('exec', '-T', 'bucket', ...find)
      .split('\n')
      .filter(Boolean).length;
  }

  set(name: string, value: string): void {
    this.#env[name] = value;
  }

  compose(...args: string[]): string {
    const [command = '', ...rest] = this.#compose;
    const done = run(command, [...rest, ...this.#options, ...args], this.#env);
    if (!done.ok) throw new Error(`docker compose ${args.join(' ')}\n${done.text.slice(-4000)}`);
    return done.output;
  }

  /** As `compose`, beside whatever else this process does. */
  composeBeside(...args: string[]): Promise<void> {
    const [command = '', ...rest] = this.#compose;
    return this.#runBeside(command, [...rest, ...this.#options, ...args]);
  }

  upgrade(): Promise<void> {
    return this.#runBeside('sh', [join(repository, 'deploy/upgrade.sh'), ...this.#options]);
  }

  /** Returns the folder. */
  async backUp(): Promise<string> {
    const folder = join(this.#folder, `backup-${++this.#backups}`);
    await this.#runBeside('sh', [join(repository, 'deploy/backup.sh'), folder, ...this.#options]);
    return folder;
  }

  /** Into volumes that are new. */
  async restore(folder: string): Promise<void> {
    await this.composeBeside('down', '--volumes');
    await this.#runBeside('sh', [join(repository, 'deploy/restore.sh'), folder, ...this.#options]);
  }

  async #runBeside(command: string, args: string[]): Promise<void> {
    const env = { ...this.#env, COMPOSE: this.#compose.join(' ') };
    const child = spawn(command, args, { cwd: repository, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        output += part;
      });
    const [status] = await once(child, 'close');
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${output.slice(-4000)}`);
  }

  ids(service: string): string[] {
    return this.compose('ps', '-q', service).split('\n').filter(Boolean).sort();
  }

  inspect(id: string, format: string): string {
    return run('docker', ['inspect', '--format', format, id]).output;
  }

  dockerBeside(...args: string[]): Promise<void> {
    return this.#runBeside('docker', args);
  }

  /** The path of a file with the last lines of every container. */
  saveLogs(): string {
    const path = join(repository, 'containers.log');
    writeFileSync(path, this.compose('logs', '--no-color', '--tail', '200'));
    return path;
  }

  remove(): void {
    this.compose('down', '--volumes', '--timeout', '30');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
