/** How the clients of a language are installed and run: each in a folder of its own, outside of the project's packages. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from './run-program.js';

export const PROGRAMS = fileURLToPath(new URL('../../clients/programs', import.meta.url));

type Run = Omit<Command, 'cwd'>;

export interface Kit {
  /** What has to be on the PATH. */
  needs: string;
  /** The folder under `programs` that is copied. */
  programs: string;
  install: readonly Run[];
  /** Where the snippet of the page is put, before it is run. */
  snippetFile: string;
  snippet: Run;
  /** Runs the program of this name. */
  features(program: string): Run;
}

const node: Kit = {
  needs: 'node',
  programs: 'node',
  install: [{ program: 'npm', args: ['install', '--ignore-scripts', '--no-audit', '--no-fund'] }],
  snippetFile: 'snippet.mjs',
  snippet: { program: process.execPath, args: ['snippet.mjs'] },
  features: (program) => ({ program: process.execPath, args: [program] }),
};

/** Frameworks hold the official SDK at older versions, so it has an environment of its own. */
function python(requirements: string): Kit {
  const interpreter = join('venv', 'bin', 'python');
  return {
    needs: 'python3',
    programs: 'python',
    install: [
      { program: 'python3', args: ['-m', 'venv', 'venv'] },
      { program: interpreter, args: ['-m', 'pip', 'install', '--quiet', '-r', requirements] },
    ],
    snippetFile: 'snippet.py',
    snippet: { program: interpreter, args: ['snippet.py'] },
    features: (program) => ({ program: interpreter, args: [program] }),
  };
}

const go: Kit = {
  needs: 'go',
  programs: 'go',
  // The first build of the SDK takes minutes.
  install: [{ program: 'go', args: ['build', '-o', '/dev/null', './features'] }],
  snippetFile: 'snippet/main.go',
  snippet: { program: 'go', args: ['run', './snippet'] },
  features: (program) => ({ program: 'go', args: ['run', program] }),
};

const maven = (mainClass: string): Run => ({
  program: 'mvn',
  args: ['-q', '-B', '-Dstyle.color=never', 'compile', 'exec:java', `-Dexec.mainClass=${mainClass}`],
});
const java: Kit = {
  needs: 'mvn',
  programs: 'java',
  install: [{ program: 'mvn', args: ['-q', '-B', 'compile'] }],
  snippetFile: 'src/main/java/Snippet.java',
  snippet: maven('Snippet'),
  features: maven,
};

const cargo = (bin: string): Run => ({ program: 'cargo', args: ['run', '--quiet', '--bin', bin] });
const rust: Kit = {
  needs: 'cargo',
  programs: 'rust',
  install: [{ program: 'cargo', args: ['build', '--quiet', '--bin', 'features'] }],
  snippetFile: 'src/bin/snippet.rs',
  snippet: cargo('snippet'),
  features: cargo,
};

export const KITS = {
  node,
  'python-openai': python('requirements-openai.txt'),
  python: python('requirements.txt'),
  go,
  java,
  rust,
} satisfies Record<string, Kit>;

export function copyPrograms({ programs }: Kit, folder: string): void {
  cpSync(join(PROGRAMS, programs), folder, { recursive: true });
}

export function putSnippet({ snippetFile }: Kit, folder: string, code: string): void {
  const path = join(folder, snippetFile);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}
