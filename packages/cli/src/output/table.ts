import type { Paint, Style } from './style.js';

export interface Column<Row> {
  title: string;
  /** Numbers stand right. */
  right?: boolean;
  /** How wide it usually is; for rows that are still to come. */
  usual?: number;
  cell(row: Row): string;
  paint?(row: Row): Paint | undefined;
}

export interface RowWriter<Row> {
  head: string;
  row(row: Row): string;
}

const GAP = '  ';

/** Lines of aligned columns; a `-` where there is nothing to say. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], style: Style): string {
  const fixed = columns.map(({ usual: _, ...column }) => column);
  const { head, row } = createRowWriter(fixed, rows, style);
  return [head, ...rows.map(row)].join('\n');
}

/** Columns are as wide as the known rows need, or as rows that are still to come usually need. */
export function createRowWriter<Row>(
  columns: readonly Column<Row>[],
  known: readonly Row[],
  style: Style,
): RowWriter<Row> {
  const widths = columns.map((column) =>
    known.reduce(
      (most, row) => Math.max(most, width(cellOf(column, row))),
      Math.max(width(column.title), column.usual ?? 0),
    ),
  );
  const line = (cellFor: (column: Column<Row>) => [text: string, paint: Paint | undefined]) =>
    columns
      .map((column, i) => {
        const [text, paint] = cellFor(column);
        const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - width(text)));
        const painted = paint ? paint(text) : text;
        return column.right ? space + painted : painted + (i === columns.length - 1 ? '' : space);
      })
      .join(GAP);
  return {
    head: line(({ title }) => [title, style.heading]),
    row: (row) => line((column) => [cellOf(column, row), column.paint?.(row)]),
  };
}

/** Control characters, in a model name that a caller sent for example, are not for an operator's terminal. */
export function shown(text: string): string {
  return text.replace(/\p{C}/gu, '\ufffd');
}

function cellOf<Row>(column: Column<Row>, row: Row): string {
  return shown(column.cell(row)) || '-';
}

function width(text: string): number {
  return [...text].length;
}
