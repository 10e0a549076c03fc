import type { Paint, Style } from './style.js';

export interface Column<Row> {
  title: string;
  /** Numbers stand right. */
  right?: boolean;
  cell(row: Row): string;
  paint?(row: Row): Paint | undefined;
}

const GAP = '  ';

/** Lines of aligned columns; a `-` where there is nothing to say. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], style: Style): string {
  const cells = rows.map((row) => columns.map((column) => shown(column.cell(row)) || '-'));
  const widths = columns.map(({ title }, i) =>
    Math.max(width(title), ...cells.map((line) => width(line[i] ?? ''))),
  );
  const line = (texts: readonly string[], paints: readonly (Paint | undefined)[]) =>
    texts
      .map((text, i) => {
        const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - width(text)));
        const painted = (paints[i] ?? ((plain) => plain))(text);
        const last = i === texts.length - 1;
        return columns[i]?.right ? space + painted : painted + (last ? '' : space);
      })
      .join(GAP);
  return [
    line(
      columns.map(({ title }) => title),
      columns.map(() => style.heading),
    ),
    ...cells.map((texts, n) => {
      const row = rows[n];
      return line(
        texts,
        columns.map((column) => (row === undefined ? undefined : column.paint?.(row))),
      );
    }),
  ].join('\n');
}

/** Control characters, in a model name that a caller sent for example, are not for an operator's terminal. */
export function shown(text: string): string {
  return text.replace(/\p{C}/gu, '�');
}

function width(text: string): number {
  return [...text].length;
}
