/**
 * Makes the one package that people install. It has the built packages of this repository in the same folders as here. What
 * they depend on becomes the package's own dependencies. They import one another by paths: a name such as `@sluice/shared`
 * is found in no registry, and bundled dependencies break a global install of npm.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathOf, readManifest, readText, run, writeJson } from './repository.js';

/** Every package that runs in production. */
const PACKAGES = ['shared', 'console', 'simulator', 'api', 'admin', 'worker', 'cli'];
/** The parts of a package. A package may lack some of them. */
const PARTS = ['package.json', 'dist', 'src', 'bin', 'data', 'static', 'styles'];
const BESIDE = ['README.md', 'LICENSE', 'CHANGELOG.md', 'gateway.yaml'];

/** Files that must not be in the package: sources, types, and maps to sources that are not there. Of `src`, only Lua is run. */
const UNWANTED = /\.map$|\.tsbuildinfo$|\.tsx?$/;

/** A name of a package of ours, where Node reads it. */
const OURS = /(\bfrom |\bimport\(|\bimport\.meta\.resolve\()'@sluice\/([^/']+)\/([^']+)'/g;

export interface Assembled {
  tarball: string;
  files: string[];
  bytes: number;
}

export function assemble(version: string): Assembled {
  const folder = pathOf('build/sluice');
  rmSync(folder, { recursive: true, force: true });
  const dependencies: Record<string, string> = {};
  for (const name of PACKAGES) {
    const source = pathOf(`packages/${name}`);
    const target = join(folder, 'packages', name);
    mkdirSync(target, { recursive: true });
    for (const part of PARTS.filter((each) => existsSync(join(source, each))))
      cpSync(join(source, part), join(target, part), {
        recursive: true,
        filter: (path) => !UNWANTED.test(path),
      });
    // The console's modules are for browsers: the api puts other paths into them.
    if (name !== 'console') nameByPaths(folder, join(target, 'dist'));
    const manifest = readManifest(`packages/${name}`);
    writeJson(join(target, 'package.json'), { name: manifest.name, version, type: manifest.type });
    Object.assign(dependencies, manifest.dependencies);
  }
  for (const name of BESIDE) cpSync(pathOf(name), join(folder, name));
  const repository = repositoryOf(process.env);
  writeFileSync(join(folder, 'README.md'), linkTo(repository, version, readText('README.md')));
  const foreign = Object.entries(dependencies).filter(([name]) => !name.startsWith('@sluice/'));
  writeJson(
    join(folder, 'package.json'),
    toManifest(version, repository, Object.fromEntries(foreign.sort())),
  );

  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', '..'], 'build/sluice'),
  ) as { filename: string; size: number; files: { path: string }[] }[];
  if (!packed) throw new Error('npm pack packed nothing');
  const files = packed.files.map(({ path }) => path);
  return { tarball: pathOf(`build/${packed.filename}`), files, bytes: packed.size };
}

function nameByPaths(folder: string, dist: string): void {
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const file = join(dist, name);
    writeFileSync(file, withPaths(readFileSync(file, 'utf8'), relative(folder, file)));
  }
}

/** The text of a module of the package, with a path for each name of a package of ours. */
export function withPaths(text: string, file: string): string {
  return text.replace(OURS, (_, before: string, name: string, module: string) => {
    const target = module === 'package.json' ? module : `dist/${module}.js`;
    return `${before}'${relative(dirname(file), `packages/${name}/${target}`).replace(/^(?!\.)/, './')}'`;
  });
}

function toManifest(
  version: string,
  repository: string | undefined,
  dependencies: Record<string, string>,
): Record<string, unknown> {
  const { name, description, license, type, engines } = readManifest('.');
  return {
    name,
    version,
    description,
    keywords: ['llm', 'gateway', 'proxy', 'queue', 'openai', 'anthropic', 'redis'],
    license,
    type,
    engines,
    ...(repository && {
      // The registry compares it with where the package was made before it shows a provenance statement.
      repository: { type: 'git', url: `git+${repository}.git` },
      homepage: `${repository}#readme`,
      bugs: `${repository}/issues`,
    }),
    bin: { sluice: 'packages/cli/bin/sluice.js' },
    files: ['packages', ...BESIDE],
    dependencies,
  };
}

/** The workflow knows where the repository is. */
function repositoryOf({ GITHUB_SERVER_URL, GITHUB_REPOSITORY }: NodeJS.ProcessEnv): string | undefined {
  return GITHUB_SERVER_URL && GITHUB_REPOSITORY ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}` : undefined;
}

/** The pages of the docs are not in the package, so a link leads to the repository, to the version of the package. */
export function linkTo(repository: string | undefined, version: string, text: string): string {
  if (!repository) return text;
  const link = (kind: 'raw' | 'blob') => (_: string, words: string, path: string) =>
    `${words}(${repository}/${kind}/v${version}/${path})`;
  // A badge is an image within a link, so images come first.
  return text
    .replace(/(!\[[^\]]*\])\((?!\w+:|#)([^)]+)\)/g, link('raw'))
    .replace(/((?<!!)\[(?:!\[[^\]]*\]\([^)]*\)|[^\]])*\])\((?!\w+:|#)([^)]+)\)/g, link('blob'));
}
