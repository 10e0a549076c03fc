import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import MiniSearch from 'minisearch';
import { buildSite } from '../site/build-site.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-site-'));
const pages = buildSite(folder);
test.after.always(() => rmSync(folder, { recursive: true, force: true }));
const html = (target: string) => readFileSync(join(folder, target), 'utf8');

test('every link of the site leads to a page, and to a heading of it', (t) => {
  for (const { target, source } of pages) {
    for (const [, href = ''] of html(target).matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (/^(?:https?:|mailto:)/.test(href)) continue;
      const [path = '', anchor] = href.split('#');
      const file = path === '' ? join(folder, target) : join(folder, dirname(target), path);
      if (!existsSync(file)) t.fail(`${source} links to ${href}`);
      else if (anchor !== undefined)
        t.true(readFileSync(file, 'utf8').includes(` id="${anchor}"`), `${source} links to ${href}`);
    }
  }
  t.true(pages.length > 40);
});

test('the site fetches nothing from elsewhere', (t) => {
  for (const { target } of pages)
    t.notRegex(html(target), /<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?\/\//);
  t.notRegex(readFileSync(join(folder, 'site.css'), 'utf8'), /url\(|@import/);
  t.notRegex(readFileSync(join(folder, 'docs/images/killed-worker.svg'), 'utf8'), /href=|url\(h/);
});

test('the search of the site finds the section about a word', (t) => {
  const [, json = ''] = /^window\.searchIndex = (.*);\n$/.exec(html('search-index.js')) ?? [];
  const index = MiniSearch.loadJSON(JSON.parse(json), {
    fields: ['title', 'text'],
    storeFields: ['title', 'page'],
  });
  const hits = index.search('idempotency', { prefix: true }).map(({ id }) => id);
  t.true(hits.includes('docs/calling.html#repeating-a-request-safely'), hits.join(' '));
});
