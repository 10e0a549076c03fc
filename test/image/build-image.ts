/** Follows the Dockerfile, instruction by instruction, in folders of this machine: its files as an engine would lay them. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';

export interface Image {
  /** What is `/` in the image, but for the operating system. */
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
}

/** `context` is the repository. Of an image that is built upon, only its name is read. */
export function buildImage(context: string): Image {
  const ignored = readIgnored(join(context, '.dockerignore'));
  const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'));
  const stages = new Map<string, Image>();
  let image: Image = { root: folder, workdir: '/', env: {}, user: 'root' };

  const copy = (words: string[]) => {
    const from = words[0]?.startsWith('--from=') ? stages.get(words.shift()?.slice(7) ?? '') : undefined;
    const to = join(image.root, image.workdir, words.pop() ?? '');
    for (const word of words) {
      const source = join(from?.root ?? context, word);
      // Of a folder, what is in it.
      const target = statSync(source).isDirectory() ? to : join(to, basename(source));
      const filter = (path: string) => from !== undefined || !ignored(relative(context, path));
      cpSync(source, target, { recursive: true, verbatimSymlinks: true, filter });
    }
  };
  const run = (command: string) => {
    console.log(`RUN ${command}`);
    const env = { PATH: process.env.PATH, HOME: folder, ...image.env };
    const cwd = join(image.root, image.workdir);
    const { status } = spawnSync('sh', ['-c', command], { cwd, env, stdio: 'inherit' });
    if (status !== 0) throw new Error(`"${command}" ended with ${status}`);
  };

  for (const line of readFileSync(join(context, 'Dockerfile'), 'utf8').split('\n')) {
    const [instruction = '', ...words] = line.split(' ');
    if (instruction === '' || instruction === '#') continue;
    if (instruction === 'FROM') {
      const name = words[2] ?? 'last';
      image = { root: join(folder, name), workdir: '/', env: {}, user: 'root' };
      stages.set(name, image);
      mkdirSync(image.root);
    } else if (instruction === 'WORKDIR') {
      image.workdir = words[0] ?? '/';
      mkdirSync(join(image.root, image.workdir), { recursive: true });
    } else if (instruction === 'ENV') {
      for (const word of words)
        image.env[word.split('=')[0] ?? ''] = word
          .slice(word.indexOf('=') + 1)
          .replace('$PATH', process.env.PATH ?? '');
    } else if (instruction === 'COPY') copy(words);
    else if (instruction === 'RUN') run(words.join(' '));
    else if (instruction === 'USER') image.user = words[0] ?? '';
    else if (instruction !== 'EXPOSE' && instruction !== 'CMD')
      throw new Error(`${instruction} is not known here`);
  }
  return image;
}

/** The few forms that ours has: a name, `**` before a name, and `!` with a path that is kept. */
function readIgnored(file: string): (path: string) => boolean {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const patterns = lines
    .filter((line) => !line.startsWith('!'))
    .map((line) => {
      const text = line
        .replaceAll('.', '\\.')
        .replace('**/', '(?:.*/)?')
        .replace(/(?<!\.)\*/, '[^/]*');
      return new RegExp(`^${text}(?:/|$)`);
    });
  return (path) => !kept.includes(path) && patterns.some((pattern) => pattern.test(path));
}
