/** `npm run prices`: makes the price lists of packages/shared/data of genai-prices.json and additions.json, and says what changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseRegistryDocument, type RegistryDocument } from '@sluice/shared/registry/document';
import { readAdditions } from './additions.js';
import { buildRegistry, dayOf } from './build-registry.js';
import { describeChanges } from './cells.js';
import { buildOtherLists } from './other-lists.js';
import { PACKAGE_VERSION } from './package-data.js';

const DATA = new URL('../../packages/shared/data/', import.meta.url);

const additions = readAdditions();
if (PACKAGE_VERSION !== additions.package.version) {
  console.error(
    `genai-prices.json is of genai-prices ${PACKAGE_VERSION}. Write it into prices/additions.json as package.version, with the day it was published.`,
  );
  process.exit(1);
}
const today = new Date().toISOString().slice(0, 10);
write('models.json', (version) => buildRegistry(additions, version));
write('other-prices.json', (version) => buildOtherLists(additions, version));

function write(name: string, build: (version: string) => RegistryDocument): void {
  const file = new URL(name, DATA);
  const before = parseRegistryDocument(JSON.parse(readFileSync(file, 'utf8')));
  const number = dayOf(before.version) === today ? Number(before.version.split('.')[1]) + 1 : 1;
  const after = build(`${today}.${number}`);
  const changes = describeChanges(before, after);
  for (const line of changes) console.log(line);
  if (JSON.stringify(before.models) === JSON.stringify(after.models)) {
    console.log(`${name}: nothing changed since ${before.version}.`);
    return;
  }
  writeFileSync(file, toText(after));
  console.log(`${name}: wrote ${after.version}, ${after.models.length} models, ${changes.length} changes.`);
}

/** One model a line, so that a change is one line of a diff. */
function toText({ version, unit, models }: RegistryDocument): string {
  const lines = models.map((model) => `    ${JSON.stringify(model)}`).join(',\n');
  return `{\n  "version": "${version}",\n  "unit": "${unit}",\n  "models": [\n${lines}\n  ]\n}\n`;
}
