/** The Helm chart rendered by a real helm, without the secrets that it makes at random. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments, stringify } from 'yaml';

interface Rendered {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
}

const repository = new URL('../../../', import.meta.url);
const path = (name: string) => fileURLToPath(new URL(name, repository));
export const CHART = path('deploy/helm/sluice');
const KUBERNETES = '1.31.0';

/** Each rendering, by the name of its file in test/fixtures/helm: the values that it is made with. */
export const RENDERINGS: Record<string, string[]> = {
  'default.yaml': [],
  'full.yaml': ['--values', path('test/fixtures/helm/full-values.yaml')],
  'cluster.yaml': ['--values', path('deploy/helm/sluice/values-cluster.yaml'), '--set', 'worker.shards=0-7'],
  'own-secrets.yaml': ['--values', path('test/fixtures/helm/own-secrets-values.yaml')],
};
export const renderingPath = (name: string) => path(`test/fixtures/helm/${name}`);

export const hasHelm = () => spawnSync('helm', ['version']).status === 0;

export function render(name: string): string {
  const values = RENDERINGS[name] ?? [];
  helm(['lint', CHART, '--kube-version', KUBERNETES, '--quiet', ...values]);
  const text = helm(['template', 'gateway', CHART, '--kube-version', KUBERNETES, ...values]);
  const objects = parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null)
    .map((object) => {
      // Random values, and the files of deploy/redis, which have tests of their own.
      if (object.kind === 'Secret' || object.metadata.name.endsWith('-redis'))
        for (const key of Object.keys(object.data ?? {}))
          object.data = { ...object.data, [key]: 'bGVmdCBvdXQ=' };
      return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
    })
    .join('---\n');
  return `# Written by npm run helm, of the chart ${chartDigest()}\n${objects}`;
}

/** What somebody reads after an install. Helm prints it only with a cluster, so a copy of the chart has it as an object. */
export function renderNotes(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chart-'));
  try {
    cpSync(CHART, folder, { recursive: true, dereference: true });
    const template =
      '{{ dict "kind" "ConfigMap" "notes" (include "sluice/templates/NOTES.txt" .) | toJson }}';
    writeFileSync(join(folder, 'templates/notes.yaml'), template);
    const only = [
      '--kube-version',
      KUBERNETES,
      '--namespace',
      'sluice',
      '--show-only',
      'templates/notes.yaml',
    ];
    return (parse(helm(['template', 'gateway', folder, ...only])) as { notes: string }).notes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether helm itself refuses a value that the chart does not know. */
export function refuses(value: string): boolean {
  const { status, stderr } = spawnSync(
    'helm',
    ['template', 'gateway', CHART, '--kube-version', KUBERNETES, '--set', value],
    { encoding: 'utf8' },
  );
  return status !== 0 && stderr.includes('schema');
}

/** Tells whether a rendering is of the chart as it is. */
export function chartDigest(): string {
  const hash = createHash('sha256');
  for (const folder of ['', 'templates'])
    for (const file of readdirSync(join(CHART, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort())
      hash.update(file).update(readFileSync(join(CHART, folder, file)));
  for (const values of ['full-values.yaml', 'own-secrets-values.yaml'])
    hash.update(readFileSync(renderingPath(values)));
  return hash.digest('hex').slice(0, 16);
}

function helm(args: string[]): string {
  const { status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`helm ${args[0]}: ${stdout}${stderr}`);
  return stdout;
}
