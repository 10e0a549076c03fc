import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apiEnv } from '@sluice/api/env';
import { NODE_OPTIONS } from '@sluice/shared/process/node-options';
import { workerEnv } from '@sluice/worker/env';
import { Ajv2019 } from 'ajv/dist/2019.js';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { type Manifest, validate } from '../helpers/kubernetes.js';
import { SHIPPED_MEMORY_BYTES, SHIPPED_NODE_OPTIONS } from '../hostile/memory-limit.js';

const repository = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8');

interface Service {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  networks?: string[];
  healthcheck?: unknown;
  init?: boolean;
  read_only?: boolean;
  cap_drop?: string[];
  container_name?: string;
  depends_on?: Record<string, unknown>;
  stop_grace_period?: string;
  mem_limit?: string;
  logging?: { options: Record<string, string> };
}
interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  volumes: Record<string, unknown>;
}
const composeText = read('docker-compose.yml');
/** As docker compose reads it, with nothing set. */
const readCompose = (text: string) =>
  parse(text.replaceAll(/\$\{\w+(?::-([^}]*)|:\?[^}]*)\}/g, '$1'), { merge: true }) as Compose;
const compose = readCompose(composeText);
const clusterText = read('deploy/compose/cluster.yml');
const services = Object.entries(compose.services);

test('docker-compose.yml and the override for a Cluster are valid by the Compose Specification’s schema', (t) => {
  // It is of a draft that names its parts by `id`.
  const withoutIds = (key: string, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value;
  const schema = JSON.parse(read('test/fixtures/compose-spec.json'), withoutIds);
  const ajv = new Ajv2019({
    strict: false,
    formats: { ports: true, duration: true, expose: true, subnet_ip_address: true },
  });
  const validate = ajv.compile(schema);
  for (const each of [compose, readCompose(clusterText)])
    t.true(validate(each), JSON.stringify(validate.errors));
  t.false(validate({ ...compose, services: { api: { imaeg: 'x' } } }), 'the schema can tell');
});

test('every service is confined, watched and given its time', (t) => {
  for (const [name, service] of services) {
    t.true(service.init && service.read_only, name);
    t.deepEqual(service.cap_drop, ['ALL'], name);
    t.is(service.container_name, undefined, name);
    t.truthy(service.mem_limit, name);
    t.truthy(service.logging?.options['max-size'], name);
    if (name !== 'apply') t.truthy(service.healthcheck, name);
    for (const network of service.networks ?? []) t.true(network in compose.networks, `${name}: ${network}`);
    for (const other of Object.keys(service.depends_on ?? {})) t.true(other in compose.services);
  }
  for (const name of ['api', 'worker'])
    t.is(compose.services[name]?.ports, undefined, `${name} can be scaled`);
  const built = services.filter(([, { build }]) => build).map(([name]) => name);
  t.deepEqual(built, ['apply'], 'one service builds the image, so that all run the same one');
  t.deepEqual(compose.services.redis?.networks, ['redis']);
  t.true(compose.networks.inside?.internal && compose.networks.redis?.internal);
  const onRedis = services.filter(([, { networks }]) => networks?.includes('redis')).map(([name]) => name);
  t.deepEqual(onRedis, ['redis', 'apply', 'api', 'admin', 'worker']);
  for (const name of ['api', 'admin', 'worker'])
    t.true(
      Number.parseInt(compose.services[name]?.stop_grace_period ?? '', 10) * 1000 >=
        stopMs(name, compose.services[name]?.environment ?? {}),
      name,
    );
});

/** The longest that a process may take to stop: what it is set to wait, and what it gives connections to close. */
function stopMs(name: string, env: Record<string, string>): number {
  const value = (variable: keyof typeof apiEnv) => Number(env[variable] ?? apiEnv[variable].default);
  // Twice: before the listener closes, and before idle connections do.
  const delayMs = name === 'api' ? 2 * value('DRAIN_DELAY_MS') : 0;
  return delayMs + value('DRAIN_MS') + value('METRICS_LINGER_MS') + 20_000;
}

test('only workers have provider keys', (t) => {
  for (const [name, { environment = {} }] of services) {
    const keys = Object.keys(environment).filter((variable) => /^(?:OPENAI|ANTHROPIC)_/.test(variable));
    t.is(keys.length > 0, name === 'worker', name);
  }
});

test('the api processes share a volume for the files of batches, and so they do on Kubernetes', (t) => {
  for (const name of ['api', 'admin']) {
    const { environment = {}, volumes = [] } = compose.services[name] ?? {};
    const [volume, path] = volumes.find((each) => each.startsWith('files-data:'))?.split(':') ?? [];
    t.true(volume !== undefined && volume in compose.volumes, name);
    t.true(environment.FILES_FOLDER?.startsWith(`${path}/`), name);
  }
  const component = read('deploy/kubernetes/components/files-volume/kustomization.yaml');
  const [, folder = ''] = /FILES_FOLDER, value: (\S+) \}/.exec(component) ?? [];
  const [, mountPath = ''] = /name: files, mountPath: (\S+) \}/.exec(component) ?? [];
  t.true(mountPath !== '' && folder.startsWith(`${mountPath}/`));
});

test('every path and image that docker-compose.yml names is there, or is built', (t) => {
  for (const [name, { volumes = [], command = [], image }] of services) {
    for (const [source = ''] of volumes.map((volume) => volume.split(':')))
      t.true(
        source.startsWith('.') ? existsSync(new URL(source, repository)) : source in compose.volumes,
        source,
      );
    for (const path of command.filter((argument) => argument.startsWith('packages/')))
      t.true(existsSync(new URL(path, repository)), `${name} runs ${path}`);
    const isOurs = image === compose.services.apply?.image;
    t.true(isOurs || /^[\w./-]+:v?\d[\w.-]*(@sha256:\w{64})?$/.test(image), `${name} pins ${image}`);
  }
  const dockerfile = read('Dockerfile');
  for (const [, sources = ''] of dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm))
    for (const source of sources.split(' ')) t.true(existsSync(new URL(source, repository)), source);
  t.regex(dockerfile, /^USER node$/m);
});

test('every variable of docker-compose.yml and the override for a Cluster is in .env.example, and nothing else is', (t) => {
  const used = new Set([...(composeText + clusterText).matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  const offered = [...read('.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  t.deepEqual([...used].sort(), offered.sort());
});

test('every variable that api and worker are given is one that they read', (t) => {
  const known = new Set([
    ...Object.keys(apiEnv),
    ...Object.keys(workerEnv),
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
  ]);
  for (const name of ['api', 'admin', 'worker'])
    for (const variable of Object.keys(compose.services[name]?.environment ?? {}))
      t.true(known.has(variable), `${name}: ${variable}`);
});

const manifests = new URL('deploy/kubernetes/', repository);
const files = readdirSync(manifests, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.yaml') && !/(?:kustomization|gateway)\.yaml$/.test(path),
);

const objects = files.flatMap((path) =>
  parseAllDocuments(readFileSync(new URL(path, manifests), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  ),
);

test('every Kubernetes manifest is valid by its kind’s published schema', async (t) => {
  t.true(objects.length > 10);
  for (const object of objects)
    await t.notThrowsAsync(validate(object), `${object.kind} ${object.metadata.name}`);
  const [first] = objects.filter(({ kind }) => kind === 'Deployment');
  await t.throwsAsync(
    validate({ ...first, spec: { replicas: 'many' } } as unknown as Manifest),
    undefined,
    'the schema can tell',
  );
});

test('no manifest has the name of another one, so that every component can be added to base', (t) => {
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  t.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

test('a pod is given the time that its process takes to stop', (t) => {
  for (const name of ['api', 'worker']) {
    const { template } = deployment(name);
    const env = template.spec.containers[0]?.env.map(({ name, value }) => [name, value]) ?? [];
    t.true(template.spec.terminationGracePeriodSeconds * 1000 >= stopMs(name, Object.fromEntries(env)), name);
  }
  t.is(deployment('api').replicas, undefined, 'that is for the autoscaler to say');
});

interface Deployment {
  replicas?: number;
  template: {
    spec: {
      terminationGracePeriodSeconds: number;
      containers: {
        command: string[];
        env: { name: string; value: string }[];
        resources: { limits: { memory: string } };
      }[];
    };
  };
}
function deployment(name: string): Deployment {
  const found = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  return (found as unknown as { spec: Deployment }).spec;
}

test('a process has the memory, and Node the part of it, that npm run hostile tries', (t) => {
  for (const name of ['api', 'worker']) {
    const service = compose.services[name];
    t.is(service?.mem_limit, `${SHIPPED_MEMORY_BYTES / 1024 / 1024}m`, name);
    t.true(service?.command?.includes(SHIPPED_NODE_OPTIONS), name);
    const [container] = deployment(name).template.spec.containers;
    t.is(container?.resources.limits.memory, `${SHIPPED_MEMORY_BYTES / 1024 / 1024}Mi`, name);
    t.true(container?.command.includes(SHIPPED_NODE_OPTIONS), name);
  }
});

test('the image and the systemd units bound the young generation as npm start does', (t) => {
  t.regex(read('Dockerfile'), new RegExp(`^ENV .*\\bNODE_OPTIONS=${NODE_OPTIONS}$`, 'm'));
  for (const name of readdirSync(new URL('deploy/systemd/', repository)))
    t.regex(
      read(`deploy/systemd/${name}`),
      new RegExp(`^Environment="NODE_OPTIONS=${SHIPPED_NODE_OPTIONS} ${NODE_OPTIONS}"$`, 'm'),
      name,
    );
});

/** What a role is given of the secrets: keys of sluice-secrets, and whole secrets. */
function secretsOf(role: string): { keys: string[]; whole: string[] } {
  const text = JSON.stringify(
    objects.find(({ kind, metadata }) => metadata.name === role && ['Deployment', 'Job'].includes(kind)),
  );
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);
  return {
    keys: found(/"secretKeyRef":\{"name":"sluice-secrets","key":"(\w+)"/g),
    whole: found(/"secretRef":\{"name":"([\w-]+)"/g),
  };
}

test('every role has a Redis user of its own, and only the admin process has the admin token', (t) => {
  for (const role of ['api', 'worker', 'admin', 'apply'])
    t.deepEqual(
      secretsOf(role).keys.filter((key) => key.startsWith('REDIS_URL')),
      [role === 'apply' ? 'REDIS_URL_ADMIN' : `REDIS_URL_${role.toUpperCase()}`],
    );
  for (const role of ['api', 'worker', 'apply']) t.false(secretsOf(role).keys.includes('ADMIN_TOKEN'), role);
  for (const role of ['api', 'admin', 'apply'])
    t.false(secretsOf(role).whole.includes('sluice-providers'), role);
});

test('deploy/kubernetes/make-overlay.sh writes every secret that the manifests name, once', (t) => {
  // A folder that may have nothing but / in common with the repository.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'sluice-overlay-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const script = fileURLToPath(new URL('deploy/kubernetes/make-overlay.sh', repository));
  const make = () =>
    spawnSync('sh', [script, join(folder, 'a/b'), 'redis.example:6380'], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  t.is(make().status, 0);
  const made = (name: string) => readFileSync(join(folder, 'a/b', name), 'utf8');
  const { resources, secretGenerator } = parse(made('kustomization.yaml')) as {
    resources: string[];
    secretGenerator: { name: string; envs: string[] }[];
  };
  t.true(existsSync(join(folder, 'a/b', resources[0] ?? '', 'kustomization.yaml')));
  const generated = new Map(secretGenerator.map(({ name, envs: [file = ''] }) => [name, made(file)]));
  for (const role of ['api', 'worker', 'admin', 'apply']) {
    const { keys, whole } = secretsOf(role);
    for (const key of keys)
      t.regex(generated.get('sluice-secrets') ?? '', new RegExp(`^#?${key}=`, 'm'), key);
    for (const name of whole) t.true(generated.has(name), name);
  }
  t.regex(made('secrets.env'), /^REDIS_URL_API=redis:\/\/sluice-api:\w{48}@redis\.example:6380$/m);
  const before = made('secrets.env');
  t.is(make().status, 0);
  t.is(made('secrets.env'), before, 'it changes nothing that is there');
});

test('only workers are given the role that owns the tables, and it has a password of its own', (t) => {
  const owners = services.filter(([, { environment }]) => environment && 'DATABASE_OWNER_URL' in environment);
  t.deepEqual(
    owners.map(([name]) => name),
    ['worker'],
  );
  t.regex(composeText, /DATABASE_OWNER_URL: postgres:\/\/sluice_owner:\$\{POSTGRES_OWNER_PASSWORD:/);
  t.regex(composeText, /DATABASE_URL: postgres:\/\/sluice:\$\{POSTGRES_PASSWORD:/);
  const pods = objects.filter(
    (object) => object.kind === 'Deployment' && JSON.stringify(object).includes('DATABASE_OWNER_URL'),
  );
  t.deepEqual([...new Set(pods.map(({ metadata }) => metadata.name))], ['worker']);
});

test('Redis of docker-compose.yml has users with passwords, and nobody else', async (t) => {
  const script = fileURLToPath(new URL('deploy/redis/start.sh', repository));
  const folder = mkdtempSync(join(tmpdir(), 'sluice-users-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // In the place of Redis: what it would be started with.
  writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\necho "$@"\ncat "$2"\n', { mode: 0o755 });
  const start = (env: Record<string, string>) =>
    spawnSync('sh', [script, '--appendonly', 'yes'], {
      encoding: 'utf8',
      env: { PATH: `${folder}:${process.env.PATH}`, TMPDIR: folder, ...env },
    });
  const passwords = { REDIS_API_PASSWORD: 'p1', REDIS_ADMIN_PASSWORD: 'a1' };
  t.not(start(passwords).status, 0, 'a password is missing');
  const { status, stdout } = start({ ...passwords, REDIS_WORKER_PASSWORD: 'w1' });
  t.is(status, 0);
  t.regex(stdout, /^--aclfile \S+ --appendonly yes$/m);
  const users = stdout.match(/^user \S+ \S+ ?\S*/gm);
  t.deepEqual(users, [
    'user default off ~*',
    'user sluice-api on >p1',
    'user sluice-worker on >w1',
    'user sluice-admin on >a1',
  ]);
  const ofCluster = start({ ...passwords, REDIS_WORKER_PASSWORD: 'w1', REDIS_CLUSTER_PASSWORD: 'c1' }).stdout;
  t.is(
    ofCluster,
    `${stdout}user sluice-cluster on >c1 resetkeys resetchannels -@all +auth +hello +ping +info +cluster\n`,
  );
});

test('Alertmanager of docker-compose.yml sends where the environment says, and Prometheus sends to it', (t) => {
  const script = fileURLToPath(new URL('deploy/alertmanager/start.sh', repository));
  const folder = mkdtempSync(join(tmpdir(), 'sluice-alertmanager-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // In the place of Alertmanager: what it would be started with.
  writeFileSync(join(folder, 'alertmanager'), '#!/bin/sh\ncat "${1#--config.file=}"\n', { mode: 0o755 });
  const start = (env: Record<string, string>) =>
    spawnSync('sh', [script], {
      encoding: 'utf8',
      env: { PATH: `${folder}:${process.env.PATH}`, TMPDIR: folder, ...env },
    });
  const receiver = (env: Record<string, string>) => parse(start(env).stdout).receivers[0];
  t.deepEqual(receiver({ ALERTS_WEBHOOK_URL: '', ALERTS_MAIL_TO: '' }), { name: 'people' });
  const url = "https://hooks.example/it's#x";
  t.deepEqual(receiver({ ALERTS_WEBHOOK_URL: url }).webhook_configs, [{ url }]);
  const mail = { ALERTS_MAIL_TO: 'ops@example.com', SMTP_FROM: 'sluice@example.com' };
  t.deepEqual(
    receiver({ ...mail, SMTP_URL: String.raw`smtps://me%40x.org:p%27a\\n%25@mail.example.com` })
      .email_configs,
    [
      {
        ...{ to: 'ops@example.com', from: 'sluice@example.com', smarthost: 'mail.example.com:465' },
        ...{ send_resolved: true, auth_username: 'me@x.org', auth_password: String.raw`p'a\\n%` },
      },
    ],
  );
  t.like(receiver({ ...mail, SMTP_URL: 'smtp://10.0.0.1:2525?tls=off' }).email_configs[0], {
    smarthost: '10.0.0.1:2525',
    require_tls: false,
    auth_username: undefined,
  });
  t.not(start(mail).status, 0, 'mail needs a server');
  const { alertmanagers } = parse(read('prometheus.yml')).alerting;
  t.deepEqual(alertmanagers[0].static_configs[0].targets, ['alertmanager:9093']);
  t.true('alertmanager' in compose.services);
});

test('whoever sends webhooks has a way out of docker-compose.yml', (t) => {
  for (const name of ['api', 'admin', 'alertmanager'])
    t.true(
      compose.services[name]?.networks?.some((network) => !compose.networks[network]?.internal),
      name,
    );
});

test('in the override for a Cluster every node is as confined as Redis, and every process is told of all of them', (t) => {
  const cluster = readCompose(clusterText);
  const { redis, ...others } = cluster.services;
  const nodes = ['redis', 'redis-2', 'redis-3'];
  const addresses = nodes.map((name) => {
    const { volumes = [], networks, environment, command } = cluster.services[name] ?? {};
    const data = volumes.find((volume) => volume.endsWith(':/data'))?.split(':', 1)[0] ?? '';
    t.true(data in cluster.volumes, name);
    t.deepEqual(command, redis?.command, name);
    t.deepEqual(environment, redis?.environment, name);
    return (networks as unknown as { redis: { ipv4_address: string } }).redis.ipv4_address;
  });
  t.deepEqual(
    cluster.services.cluster?.command?.slice(2),
    addresses.map((address) => `${address}:6379`),
  );
  t.deepEqual(redis?.command?.slice(0, 8), compose.services.redis?.command, 'as the single one, and more');
  for (const name of ['redis-2', 'redis-3', 'cluster']) {
    const own = compose.services.redis as Service;
    for (const field of ['image', 'init', 'read_only', 'cap_drop', 'logging'] as const)
      t.deepEqual(others[name]?.[field], own[field], `${name}: ${field}`);
  }
  for (const name of ['apply', 'api', 'admin', 'worker']) {
    const { environment = {}, depends_on = {} } = others[name] ?? {};
    const user = name === 'apply' ? 'admin' : name;
    t.is(
      environment.REDIS_URL,
      `redis+cluster://sluice-${user}:@${nodes.map((node) => `${node}:6379`).join()}`,
    );
    t.is(Number(environment.SLUICE_SHARDS), 16, name);
    t.true(
      ['redis-2', 'redis-3', 'cluster'].every((other) => other in depends_on),
      name,
    );
  }
});

test('deploy/make-env.sh makes every secret that docker-compose.yml requires, once', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-env-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'env');
  const script = fileURLToPath(new URL('deploy/make-env.sh', repository));
  t.is(spawnSync('sh', [script, file]).status, 0);
  const made = readFileSync(file, 'utf8');
  const required = new Set(
    [...(composeText + clusterText).matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name),
  );
  for (const name of required) t.regex(made, new RegExp(`^${name}=\\S{32,}$`, 'm'));
  t.is(spawnSync('sh', [script, file]).status, 0);
  t.is(readFileSync(file, 'utf8'), made, 'it changes nothing that is there');
});

interface Kustomization {
  resources?: string[];
  patches?: { target: { kind: string; name: string } }[];
}

test('the kustomizations list every manifest, and the configuration is the shipped one', (t) => {
  const components = readdirSync(new URL('components/', manifests)).map((name) => `components/${name}`);
  for (const folder of ['base', 'operators', ...components]) {
    const text = readFileSync(new URL(`${folder}/kustomization.yaml`, manifests), 'utf8');
    const { resources = [], patches = [] } = parse(text) as Kustomization;
    for (const { target } of patches)
      t.true(
        objects.some(
          ({ kind, metadata }) => kind === target.kind && new RegExp(target.name).test(metadata.name),
        ),
        `${folder} patches ${target.kind} ${target.name}`,
      );
    const own = files
      .filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1));
    t.deepEqual(resources.filter((path: string) => !path.startsWith('..')).sort(), own.sort());
  }
  t.is(read('deploy/kubernetes/base/gateway.yaml'), read('gateway.yaml'));
});

test('every systemd unit leaves its process the time to drain, and gives it variables that it reads', (t) => {
  const folder = new URL('deploy/systemd/', repository);
  const known = new Set([...Object.keys(apiEnv), ...Object.keys(workerEnv), 'NODE_OPTIONS']);
  for (const name of readdirSync(folder)) {
    const unit = readFileSync(new URL(name, folder), 'utf8');
    const role = name.includes('worker') ? 'worker' : 'api';
    t.regex(unit, new RegExp(`^ExecStart=/usr/bin/env sluice ${role}$`, 'm'), name);
    t.true(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1000 >= stopMs(role, {}), name);
    const set = [...unit.matchAll(/(?<=^Environment=.*)\b([A-Z_]+)=/gm)].map(([, variable = '']) => variable);
    for (const variable of set.filter((found) => found !== 'Environment'))
      t.true(known.has(variable.replace(/_FILE$/, '')), `${name}: ${variable}`);
  }
});
