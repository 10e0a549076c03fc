import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { CHART, chartDigest, RENDERINGS, renderingPath } from '../helm/render.js';
import { type Manifest, validate } from '../helpers/kubernetes.js';

const rendered = Object.keys(RENDERINGS).map((name) => {
  const text = readFileSync(renderingPath(name), 'utf8');
  return { name, text, objects: parseAllDocuments(text).map((document) => document.toJS() as Manifest) };
});

test('the renderings of the chart are of the chart as it is (npm run helm makes them)', (t) => {
  for (const { name, text } of rendered)
    t.true(text.startsWith(`# Written by npm run helm, of the chart ${chartDigest()}\n`), name);
});

test('everything that the chart renders is valid by its kind’s published schema', async (t) => {
  for (const { name, objects } of rendered) {
    t.true(objects.length > 10, name);
    for (const object of objects)
      await t.notThrowsAsync(validate(object), `${name}: ${object.kind} ${object.metadata.name}`);
  }
});

test('the chart gives each role its own user of Redis, and only workers the providers’ keys and the owner of the tables', (t) => {
  for (const { name, objects } of rendered)
    for (const role of ['api', 'worker', 'admin']) {
      const found = objects.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `gateway-${role}`,
      );
      const text = JSON.stringify(found);
      const users = [...text.matchAll(/REDIS_URL_(\w+)/g)].map(([, user]) => user);
      t.deepEqual(users, [role.toUpperCase()], `${name}: ${role}`);
      t.is(text.includes('sluice-providers'), name === 'full.yaml' && role === 'worker', `${name}: ${role}`);
      t.is(text.includes('ADMIN_TOKEN'), role === 'admin', `${name}: ${role}`);
      const hasPostgres = !['default.yaml', 'cluster.yaml'].includes(name);
      t.is(text.includes('"DATABASE_URL"'), hasPostgres && role !== 'api', `${name}: ${role}`);
      t.is(text.includes('DATABASE_OWNER_URL'), hasPostgres && role === 'worker', `${name}: ${role}`);
      const hasFiles = name === 'full.yaml' && role !== 'worker';
      t.is(text.includes('"claimName":"gateway-files"'), hasFiles, `${name}: ${role}`);
      t.is(text.includes('FILES_FOLDER'), hasFiles, `${name}: ${role}`);
    }
});

test('the chart tells every process the number of shards, and workers which of them are theirs', (t) => {
  for (const role of ['api', 'worker', 'admin', 'apply'])
    for (const { name } of rendered) {
      const env = podOf(name, role).spec.containers[0]?.env ?? [];
      const given = (variable: string) => env.find((each) => each.name === variable)?.value;
      t.is(given('SLUICE_SHARDS'), name === 'cluster.yaml' ? '16' : undefined, `${name}: ${role}`);
      const areSome = name === 'cluster.yaml' && role === 'worker';
      t.is(given('WORKER_SHARDS'), areSome ? '0-7' : undefined, `${name}: ${role}`);
    }
});

type Values = Record<string, unknown>;
const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Values;
const valuesFit = new Ajv({ allowUnionTypes: true }).compile(
  JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')),
);

test('the values fit the schema of the chart, and each of them misspelt does not', (t) => {
  t.true(valuesFit(values), JSON.stringify(valuesFit.errors));
  const others = ['full-values.yaml', 'own-secrets-values.yaml'].map(renderingPath);
  for (const path of [...others, join(CHART, 'values-cluster.yaml')])
    t.true(valuesFit(parse(readFileSync(path, 'utf8'))), JSON.stringify(valuesFit.errors));
  // Names in these are the installation's own.
  const isOpen = /(?:[lL]abels|annotations|requests|limits|nodeSelector|env|affinity|lifecycle)$/;
  const misspell = (place: Values, path: string): void => {
    for (const [name, value] of Object.entries(place)) {
      delete place[name];
      place[`${name}x`] = value;
      t.false(valuesFit(values), `${path}${name}x`);
      delete place[`${name}x`];
      place[name] = value;
      if (value !== null && typeof value === 'object' && !Array.isArray(value) && !isOpen.test(name))
        misspell(value as Values, `${path}${name}.`);
    }
  };
  misspell(values, '');
});

interface Pod {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: {
    [field: string]: unknown;
    containers: { [field: string]: unknown; env: { name: string; [field: string]: unknown }[] }[];
  };
}
const podOf = (rendering: string, name: string): Pod => {
  const found = rendered
    .find(({ name }) => name === rendering)
    ?.objects.find(
      ({ kind, metadata }) => ['Deployment', 'Job'].includes(kind) && metadata.name === `gateway-${name}`,
    );
  return (found as unknown as { spec: { template: Pod } }).spec.template;
};

test('every pod of the gateway is given what pods says, and those of a role what the role says', (t) => {
  for (const role of ['api', 'worker', 'admin', 'apply']) {
    const { metadata, spec } = podOf('full.yaml', role);
    const [container] = spec.containers;
    t.like(metadata.labels, { team: 'platform', 'app.kubernetes.io/name': 'sluice' }, role);
    t.is(metadata.annotations.team, role === 'worker' ? 'workers' : 'platform', role);
    t.is(spec.serviceAccountName, 'gateway', role);
    t.is(spec.automountServiceAccountToken, false, role);
    t.is(spec.priorityClassName, 'important', role);
    t.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }], role);
    t.like(spec.nodeSelector, role === 'api' ? { disk: 'fast', pool: 'gateway' } : { disk: 'fast' }, role);
    t.is((spec.tolerations as unknown[]).length, role === 'worker' ? 2 : 1, role);
    t.truthy(spec.affinity, role);
    t.true(JSON.stringify(spec.volumes).includes('private-authority'), role);
    t.true(JSON.stringify(container?.volumeMounts).includes('/etc/authority'), role);
    t.true(JSON.stringify(container?.envFrom).includes('everywhere'), role);
    const env = (name: string) => container?.env.filter((each) => each.name === name);
    t.deepEqual(env('NODE_EXTRA_CA_CERTS'), [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/authority/ca.crt' },
    ]);
    t.deepEqual(env('SMTP_URL'), [
      { name: 'SMTP_URL', valueFrom: { secretKeyRef: { name: 'smtp', key: 'url' } } },
    ]);
    t.deepEqual(env('LOG_LEVEL'), [{ name: 'LOG_LEVEL', value: role === 'api' ? 'warn' : 'info' }]);
  }
  const [api] = podOf('full.yaml', 'api').spec.containers;
  t.like(api, {
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    startupProbe: { httpGet: { path: '/healthz', port: 'metrics' }, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: undefined,
    readinessProbe: { exec: { command: ['ready', '9464', '/readyz'] }, httpGet: undefined },
  });
  t.is((podOf('full.yaml', 'api').spec.topologySpreadConstraints as Values[])[0]?.topologyKey, 'zone');
});

test('webhooks and the mail of alerts are let through where networkPolicies.webhooks says so', (t) => {
  const ports = (rendering: string, role: string) => {
    const { objects = [] } = rendered.find(({ name }) => name === rendering) ?? {};
    const policy = objects.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `gateway-${role}`,
    ) as unknown as {
      spec: { egress: { to?: { ipBlock?: { cidr: string } }[]; ports: { port: number }[] }[] };
    };
    return policy.spec.egress
      .filter(({ to }) => to?.some(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0'))
      .flatMap(({ ports }) => ports.map(({ port }) => port));
  };
  t.deepEqual(ports('default.yaml', 'api'), []);
  t.deepEqual(ports('default.yaml', 'admin'), []);
  t.true(ports('full.yaml', 'api').includes(443));
  t.deepEqual(ports('full.yaml', 'admin').slice(-3), [443, 465, 587]);
});

test('the console is reached from outside where console.enabled says so, by the namespace that it names', (t) => {
  for (const { name, objects } of rendered) {
    const isOn = name === 'full.yaml';
    const find = (wanted: string) =>
      objects.find(({ kind, metadata }) => kind === wanted && metadata.name === 'gateway-admin') as unknown as
        | { spec: { ports: Values[]; ingress: { from: Values[]; ports: { port: number }[] }[] } }
        | undefined;
    t.deepEqual(find('Service')?.spec.ports, isOn ? [{ name: 'console', port: 8081 }] : undefined, name);
    const ways = find('NetworkPolicy')?.spec.ingress.filter(({ ports }) => ports[0]?.port === 8081);
    const matchLabels = { 'sluice-ingress': 'true' };
    t.deepEqual(
      ways?.map(({ from }) => from),
      isOn ? [[{ namespaceSelector: { matchLabels } }]] : [],
      name,
    );
    const env = podOf(name, 'admin').spec.containers[0]?.env ?? [];
    t.is(env.find((each) => each.name === 'ADMIN_HOST')?.value, isOn ? '0.0.0.0' : undefined, name);
  }
});

test('with secrets of one’s own the chart makes none', (t) => {
  const { objects = [], text = '' } = rendered.find(({ name }) => name === 'own-secrets.yaml') ?? {};
  t.deepEqual(
    objects.filter(({ kind }) => kind === 'Secret'),
    [],
  );
  t.true(
    objects.some(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'gateway-postgres'),
  );
  const named = [...text.matchAll(/secretKeyRef:\n +name: (\S+)/g)].map(([, name]) => name);
  t.deepEqual([...new Set(named)].sort(), ['sluice-postgres', 'sluice-redis', 'sluice-secrets']);
});

test('after an install the first request is printed', (t) => {
  const notes = readFileSync(renderingPath('notes.txt'), 'utf8');
  t.regex(notes, /^ {2}curl http:\/\/127\.0\.0\.1:8080\/v1\/chat\/completions .* \\$/m);
  const [, body = ''] = /-d '(.+)'/.exec(notes) ?? [];
  t.is(JSON.parse(body).model, 'fast');
});
