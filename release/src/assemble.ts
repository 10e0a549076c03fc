/**
 * Makes the one package that people install. The workspaces' own packages go into it as bundled dependencies, built;
 * what they depend on becomes the package's own dependencies. A package that npm packs from a workspace would leave them
 * out, because there they are links.
 */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf, readManifest, run, withVersion, writeJson } from './repository.js';

/** Every package that runs in production. */
const PACKAGES = ['shared', 'console', 'simulator', 'api', 'admin', 'worker', 'cli'];
/** The parts of a package. A package may lack some of them. */
const PARTS = ['package.json', 'dist', 'src', 'bin', 'data', 'static', 'styles'];
const BESIDE = ['README.md', 'LICENSE', 'CHANGELOG.md', 'gateway.yaml'];

/** Files that must not be in the package. A source map names no source that is there. Of the sources, only Lua is run. */
const UNWANTED = /\.map$|\.tsbuildinfo$|\.tsx?$(?<!\.d\.ts)/;

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
    const target = join(folder, 'node_modules', '@sluice', name);
    mkdirSync(target, { recursive: true });
    for (const part of PARTS.filter((each) => existsSync(join(source, each))))
      cpSync(join(source, part), join(target, part), {
        recursive: true,
        filter: (path) => !UNWANTED.test(path),
      });
    const manifest = readManifest(`packages/${name}`);
    writeJson(join(target, 'package.json'), withVersion(manifest, version));
    Object.assign(dependencies, manifest.dependencies);
  }
  mkdirSync(join(folder, 'bin'));
  cpSync(pathOf('release/sluice.js'), join(folder, 'bin', 'sluice.js'));
  for (const name of BESIDE) cpSync(pathOf(name), join(folder, name));
  writeJson(join(folder, 'package.json'), toManifest(version, dependencies));

  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', '..'], 'build/sluice'),
  ) as { filename: string; size: number; files: { path: string }[] }[];
  if (!packed) throw new Error('npm pack packed nothing');
  const files = packed.files.map(({ path }) => path);
  return { tarball: pathOf(`build/${packed.filename}`), files, bytes: packed.size };
}

function toManifest(version: string, dependencies: Record<string, string>) {
  const { name, description, license, type, engines } = readManifest('.');
  const bundled = PACKAGES.map((each) => `@sluice/${each}`);
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    ...repositoryOf(process.env),
    bin: { sluice: 'bin/sluice.js' },
    files: ['bin', 'gateway.yaml', 'CHANGELOG.md'],
    dependencies: {
      ...Object.fromEntries(Object.entries(dependencies).sort()),
      ...Object.fromEntries(bundled.map((each) => [each, version])),
    },
    bundleDependencies: bundled,
  };
}

/** The registry compares it with where the package was made before it shows a provenance statement. */
function repositoryOf({ GITHUB_SERVER_URL, GITHUB_REPOSITORY }: NodeJS.ProcessEnv) {
  if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY) return {};
  return { repository: { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` } };
}
