import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import MiniSearch from 'minisearch';
import { type Page, renderPage } from './render-page.js';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const assets = join(repository, 'test/site/assets');
const FRONT = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];
const FIELDS = { fields: ['title', 'text'], storeFields: ['title', 'page'] };

/** Writes the site into a folder of its own, and returns its pages. */
export function buildSite(folder: string): Page[] {
  const inFolder = (name: string) =>
    readdirSync(join(repository, name))
      .filter((file) => file.endsWith('.md'))
      .sort()
      .map((file) => `${name}/${file}`);
  const sources = [...FRONT, ...inFolder('docs'), ...inFolder('docs/adr')];
  const targets = new Map(sources.map((source) => [source, targetOf(source)]));
  const pages = sources.map((source) =>
    renderPage(source, targetOf(source), readFileSync(join(repository, source), 'utf8'), targets),
  );
  rmSync(folder, { recursive: true, force: true });
  for (const page of pages) {
    mkdirSync(dirname(join(folder, page.target)), { recursive: true });
    writeFileSync(join(folder, page.target), layOut(page, pages));
  }
  cpSync(join(repository, 'docs/images'), join(folder, 'docs/images'), { recursive: true });
  cpSync(assets, folder, { recursive: true });
  cpSync(
    createRequire(import.meta.url)
      .resolve('minisearch')
      .replace(/cjs.*$/, 'umd/index.js'),
    join(folder, 'minisearch.js'),
  );
  writeFileSync(
    join(folder, 'search-index.js'),
    `window.searchIndex = ${JSON.stringify(JSON.stringify(indexOf(pages)))};\n`,
  );
  return pages;
}

function targetOf(source: string): string {
  return source === 'README.md' ? 'index.html' : source.replace(/\.md$/, '.html');
}

/** One entry for each section, so that a hit leads to its place. */
function indexOf(pages: readonly Page[]): MiniSearch {
  const index = new MiniSearch(FIELDS);
  index.addAll(
    pages.flatMap(({ target, title, sections }) =>
      sections.map(({ id, heading, text }) => ({
        id: id === '' ? target : `${target}#${id}`,
        title: heading,
        page: title,
        text,
      })),
    ),
  );
  return index;
}

function layOut(page: Page, pages: readonly Page[]): string {
  const up = '../'.repeat(page.target.split('/').length - 1);
  const links = pages
    .filter(({ target }) => !target.startsWith('docs/adr/'))
    .map(({ target, title }) => {
      const here = target === page.target ? ' aria-current="page"' : '';
      return `<li><a href="${posix.relative(posix.dirname(page.target), target)}"${here}>${title}</a></li>`;
    });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title} · Sluice</title>
<link rel="stylesheet" href="${up}site.css">
</head>
<body>
<nav aria-label="Pages">
<label>Search <input id="search" type="search" autocomplete="off"></label>
<ul id="hits" data-up="${up}" hidden></ul>
<ul>${links.join('\n')}</ul>
</nav>
<main>
${page.html}
</main>
<script src="${up}minisearch.js"></script>
<script src="${up}search-index.js"></script>
<script src="${up}search.js"></script>
</body>
</html>
`;
}
