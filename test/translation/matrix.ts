/** The table of docs/translation.md, as text. */
import { type Family, FEATURES, type Verdict } from './features.js';
import { FAMILIES } from './presets.js';

export const BEGIN = '<!-- The table is made by `npm run docs`. -->';
export const END = '<!-- End of the table. -->';

const SIGNS: Readonly<Record<Verdict, string>> = { 'as it came': '=', translated: '⇄', 'left out': '–' };

export function matrixText(): string {
  const families = [...new Set(FAMILIES.map(([, family]) => family))];
  const presetsOf = (wanted: Family) => {
    const names = FAMILIES.flatMap(([preset, family]) => (family === wanted ? `\`${preset}\`` : [])).join(
      ', ',
    );
    return wanted === 'responses' ? `[The Responses API](#by-the-responses-api) of ${names}` : names;
  };
  return [
    BEGIN,
    '',
    ...families.map((family, i) => `${i + 1}. ${presetsOf(family)}`),
    '',
    `| Feature | ${families.map((_, i) => i + 1).join(' | ')} |`,
    `|---|${families.map(() => '---|').join('')}`,
    ...[...featuresBySigns(families)].map(([signs, names]) => `| ${names.join('<br>')} | ${signs} |`),
    '',
    END,
  ].join('\n');
}

/** A row for all features that fare alike, a line each. */
function featuresBySigns(families: readonly Family[]): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  for (const { name, verdicts } of FEATURES) {
    const signs = families.map((family) => SIGNS[verdicts[family]]).join(' | ');
    rows.set(signs, [...(rows.get(signs) ?? []), name]);
  }
  return rows;
}

export function withMatrix(page: string): string {
  const before = page.indexOf(BEGIN);
  const after = page.indexOf(END);
  if (before < 0 || after < 0) throw new Error('docs/translation.md has no place for the table');
  return page.slice(0, before) + matrixText() + page.slice(after + END.length);
}
