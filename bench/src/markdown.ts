/** A table, its columns aligned so that it also reads well in a terminal. The first `texts` columns are left-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], texts = 1): string {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => align(cells[i] ?? '', width, i < texts)).join(' | ')} |`;
  const rule = widths.map((width, i) => (i < texts ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

function align(text: string, width: number, left: boolean): string {
  return left ? text.padEnd(width) : text.padStart(width);
}

/** `12,345`, `123.4` or `1.23`: three figures, or all before the point. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function times(ratio: number | undefined): string {
  return ratio === undefined || !Number.isFinite(ratio) ? '–' : `${figure(ratio)}×`;
}
