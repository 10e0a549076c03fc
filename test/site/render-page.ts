/** One Markdown page as HTML, with links between pages made to fit the site. */
import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';

export interface Section {
  /** Empty for what stands before the first heading below the title. */
  id: string;
  heading: string;
  text: string;
}

export interface Page {
  source: string;
  target: string;
  title: string;
  html: string;
  sections: Section[];
}

export function renderPage(
  source: string,
  target: string,
  text: string,
  targets: ReadonlyMap<string, string>,
): Page {
  const markdown = new MarkdownIt({ html: true });
  const tokens = markdown.parse(text, {});
  const sections: Section[] = [];
  const ids = new Map<string, number>();
  let title = source;
  for (const [i, token] of tokens.entries()) {
    const content = tokens[i + 1];
    if (token.type === 'heading_open') {
      const heading = plain(content?.children ?? []);
      const id = uniqueId(heading, ids);
      token.attrSet('id', id);
      if (token.tag === 'h1') title = heading;
      sections.push({ id: token.tag === 'h1' ? '' : id, heading, text: '' });
    }
    const section = sections.at(-1);
    if (section && token.type === 'inline') section.text += ` ${plain(token.children ?? [])}`;
    else if (section && token.type === 'fence') section.text += ` ${token.content}`;
    for (const child of token.children ?? []) {
      if (child.type !== 'link_open') continue;
      const href = siteLink(String(child.attrGet('href') ?? ''), source, target, targets);
      // A file of the repository that is no page has no place on the site.
      if (href === undefined) child.attrs = [['class', 'file']];
      else child.attrSet('href', href);
    }
  }
  return { source, target, title, html: markdown.renderer.render(tokens, markdown.options, {}), sections };
}

function siteLink(
  href: string,
  source: string,
  target: string,
  targets: ReadonlyMap<string, string>,
): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const page = targets.get(posix.normalize(posix.join(posix.dirname(source), path)));
  if (page === undefined) return undefined;
  return posix.relative(posix.dirname(target), page) + (anchor === undefined ? '' : `#${anchor}`);
}

interface Inline {
  type: string;
  content: string;
}

function plain(children: readonly Inline[]): string {
  return children
    .map(({ type, content }) => (type === 'softbreak' ? ' ' : type === 'html_inline' ? '' : content))
    .join('');
}

/** As GitHub makes them, so that a link works there and here. */
function uniqueId(heading: string, ids: Map<string, number>): string {
  const id = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const times = ids.get(id) ?? 0;
  ids.set(id, times + 1);
  return times === 0 ? id : `${id}-${times}`;
}
