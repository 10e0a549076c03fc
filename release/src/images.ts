/** The base images of a release, by digest. A tag can be moved to another image, and a digest cannot. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { pathOf, readText, run } from './repository.js';

/** Every file that names an image of others. */
export const IMAGE_FILES = [
  'Dockerfile',
  'docker-compose.yml',
  'deploy/compose/cluster.yml',
  'deploy/helm/sluice/values.yaml',
];

/** An image of others has a version as its tag. Ours have none here. */
const IMAGE = /^(FROM |\s+image: )([\w./-]+:v?\d[\w.-]*)(@sha256:[0-9a-f]{64})?(?=\s|$)/gm;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** The text with the digest of each image behind its tag. */
export function pinImages(text: string, digestOf: (image: string) => string): string {
  return text.replace(IMAGE, (_, before: string, image: string) => {
    const digest = digestOf(image);
    if (!DIGEST.test(digest)) throw new Error(`${image} has no digest, but ${JSON.stringify(digest)}`);
    return `${before}${image}@${digest}`;
  });
}

/** Writes an archive of the commit, with the digests that the registries have now. Returns its path. */
export function writePinned(version: string): string {
  const name = `sluice-${version}.sources`;
  const folder = `build/${name}`;
  rmSync(pathOf(folder), { recursive: true, force: true });
  mkdirSync(pathOf(folder), { recursive: true });
  run('git', ['archive', '--output', pathOf(`${folder}.tar`), 'HEAD']);
  run('tar', ['--extract', '--file', pathOf(`${folder}.tar`)], folder);
  for (const file of IMAGE_FILES)
    writeFileSync(pathOf(`${folder}/${file}`), pinImages(readText(`${folder}/${file}`), digestAtRegistry));
  run('tar', ['--create', '--gzip', '--file', `${name}.tgz`, name], 'build');
  rmSync(pathOf(folder), { recursive: true });
  rmSync(pathOf(`${folder}.tar`));
  return pathOf(`${folder}.tgz`);
}

/** The digest of the list of all platforms, so that each machine gets its own image. */
function digestAtRegistry(image: string): string {
  return run('docker', ['buildx', 'imagetools', 'inspect', '--format', '{{.Manifest.Digest}}', image]);
}
