/** `npm run helm`: lints the chart and writes its renderings to test/fixtures/helm, where npm test checks them. */
import { writeFileSync } from 'node:fs';
import { hasHelm, RENDERINGS, render, renderingPath } from './render.js';

if (!hasHelm()) {
  process.stderr.write('npm run helm needs helm 3: https://helm.sh/docs/intro/install\n');
  process.exitCode = 2;
} else {
  for (const name of Object.keys(RENDERINGS)) {
    writeFileSync(renderingPath(name), render(name));
    process.stdout.write(`test/fixtures/helm/${name}\n`);
  }
}
