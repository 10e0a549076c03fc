/** The table of docs/translation.md, as text. */
import { FEATURES, type Verdict } from './features.js';
import { FAMILIES } from './presets.js';

export const BEGIN = '<!-- The table is made by `npm run docs`. -->';
export const END = '<!-- End of the table. -->';

const SIGNS: Readonly<Record<Verdict, string>> = { 'as it came': '=', translated: '⇄', 'left out': '–' };

export function matrixText(): string {
  const names = FEATURES.map((_, i) => `${i + 1}`);
  const rows = [...FAMILIES].map(
    ([preset, family]) =>
      `| \`${preset}\` | ${FEATURES.map(({ verdicts }) => SIGNS[verdicts[family]]).join(' | ')} |`,
  );
  return [
    BEGIN,
    '',
    ...FEATURES.map(({ name }, i) => `${i + 1}. ${name}`),
    '',
    `| Preset | ${names.join(' | ')} |`,
    `|---|${names.map(() => '---|').join('')}`,
    ...rows,
    '',
    END,
  ].join('\n');
}

export function withMatrix(page: string): string {
  const before = page.indexOf(BEGIN);
  const after = page.indexOf(END);
  if (before < 0 || after < 0) throw new Error('docs/translation.md has no place for the table');
  return page.slice(0, before) + matrixText() + page.slice(after + END.length);
}
