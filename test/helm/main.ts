/** `npm run helm`: lints the chart and writes its renderings to test/fixtures/helm, where npm test checks them. */
import { writeFileSync } from 'node:fs';
import { hasHelm, RENDERINGS, refuses, render, renderingPath, renderNotes } from './render.js';

/** As somebody would misspell them. */
const MISTAKES = [
  'redis.bundeld=false',
  'api.replica=3',
  'worker.heap=much',
  'shards=65',
  'worker.shards=all',
  'ingress.hosts=llm.example.com',
];

if (!hasHelm()) {
  process.stderr.write('npm run helm needs helm 3: https://helm.sh/docs/intro/install\n');
  process.exitCode = 2;
} else {
  for (const name of Object.keys(RENDERINGS)) {
    writeFileSync(renderingPath(name), render(name));
    process.stdout.write(`test/fixtures/helm/${name}\n`);
  }
  writeFileSync(renderingPath('notes.txt'), renderNotes());
  for (const mistake of MISTAKES)
    if (!refuses(mistake)) {
      process.stderr.write(`helm takes --set ${mistake}\n`);
      process.exitCode = 1;
    }
}
