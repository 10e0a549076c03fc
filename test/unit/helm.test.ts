import { readFileSync } from 'node:fs';
import test from 'ava';
import { parseAllDocuments } from 'yaml';
import { chartDigest, RENDERINGS, renderingPath } from '../helm/render.js';
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
      t.is(text.includes('"DATABASE_URL"'), name === 'full.yaml', `${name}: ${role}`);
      t.is(
        text.includes('DATABASE_OWNER_URL'),
        name === 'full.yaml' && role === 'worker',
        `${name}: ${role}`,
      );
      const hasFiles = name === 'full.yaml' && role !== 'worker';
      t.is(text.includes('"claimName":"gateway-files"'), hasFiles, `${name}: ${role}`);
      t.is(text.includes('FILES_FOLDER'), hasFiles, `${name}: ${role}`);
    }
});
