/**
 * The console's own files, read once: its compiled modules, the libraries they import, its style sheet and its shell.
 * Browsers cannot resolve a bare name such as `preact`, and an import map would need an inline script. So the names are
 * replaced by paths here.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BASE = '/console';

/** The name that a module imports → the file. */
const LIBRARIES: Readonly<Record<string, string>> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  'preact/jsx-runtime': 'preact/jsx-runtime',
  superstruct: 'superstruct/dist/index.mjs',
  uplot: 'uplot/dist/uPlot.esm.js',
  '@sluice/shared/reasons': fileURLToPath(import.meta.resolve('@sluice/shared/reasons')),
};
/** The folder with the rules of forms. What the console imports of it imports only superstruct and more of it. */
const CONTRACT = '@sluice/shared/contract/';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export class ConsoleFile {
  readonly etag: string;
  #zipped: Buffer | undefined;

  constructor(
    readonly type: string,
    readonly body: Buffer,
  ) {
    this.etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  }

  get zipped(): Buffer {
    this.#zipped ??= gzipSync(this.body);
    return this.#zipped;
  }
}

/** Path → file. */
export function loadConsoleFiles(): ReadonlyMap<string, ConsoleFile> {
  const manifest = fileURLToPath(import.meta.resolve('@sluice/console/package.json'));
  const require = createRequire(manifest);
  const home = join(manifest, '..');
  const files = new Map<string, ConsoleFile>();
  const add = (path: string, text: string) =>
    files.set(path, new ConsoleFile(TYPES[extname(path)] ?? 'text/plain', Buffer.from(text)));

  const modules = readdirSync(join(home, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .sort();
  for (const name of modules)
    add(`${BASE}/${name}`, nameLibraries(readFileSync(join(home, 'dist', name), 'utf8')));
  for (const [name, file] of Object.entries(LIBRARIES))
    add(libraryPath(name), nameLibraries(readFileSync(require.resolve(file), 'utf8')));
  const contract = dirname(fileURLToPath(import.meta.resolve('@sluice/shared/contract/structs')));
  for (const name of readdirSync(contract).filter((each) => each.endsWith('.js')))
    add(`${BASE}/lib/contract/${name}`, nameLibraries(readFileSync(join(contract, name), 'utf8')));
  const styles = readdirSync(join(home, 'styles')).sort();
  add(`${BASE}/style.css`, styles.map((name) => readFileSync(join(home, 'styles', name), 'utf8')).join('\n'));
  for (const name of readdirSync(join(home, 'static')))
    add(`${BASE}/${name}`, readFileSync(join(home, 'static', name), 'utf8'));

  // The browser asks for all modules of the first page at once, instead of one after the other.
  const early = [...modules.map((name) => `${BASE}/${name}`), ...Object.keys(LIBRARIES).map(libraryPath)];
  const preloads = early
    .filter((path) => !/\/pages\/|uplot|superstruct|\/chart\.js$|-types\.js$/.test(path))
    .map((path) => `<link rel="modulepreload" href="${path}" />`);
  const shell = readFileSync(join(home, 'static', 'index.html'), 'utf8');
  files.delete(`${BASE}/index.html`);
  files.set(
    '/',
    new ConsoleFile(
      TYPES['.html'] ?? '',
      Buffer.from(shell.replace('<!-- modules -->', preloads.join('\n    '))),
    ),
  );
  return files;
}

function libraryPath(name: string): string {
  if (name.startsWith(CONTRACT)) return `${BASE}/lib/contract/${name.slice(CONTRACT.length)}.js`;
  return `${BASE}/lib/${name.replace('@', '').replaceAll('/', '-')}.js`;
}

function nameLibraries(text: string): string {
  return text.replace(/((?:from|import\()\s*)(["'])([@\w/-]+)\2/g, (whole, before, _quote, name: string) =>
    Object.hasOwn(LIBRARIES, name) || name.startsWith(CONTRACT) ? `${before}"${libraryPath(name)}"` : whole,
  );
}
