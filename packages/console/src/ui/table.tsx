import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../format.js';

export interface Column<T> {
  id: string;
  label: string;
  cell(row: T): ComponentChildren;
  /** Makes the column sortable. Undefined sorts last. */
  sort?(row: T): string | number | undefined;
  numeric?: boolean;
  /** The cell that names the row. */
  head?: boolean;
}

interface TableProps<T> {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey(row: T): string;
  /** Column to sort by at first, with - before it for the largest first; without it rows stay as they are. */
  sortBy?: string;
  onOpen?(row: T): void;
  footer?: ComponentChildren;
  /** Shows all rows at once, because the table is to be printed. */
  isWhole?: boolean;
  /** A class of the style sheet. */
  look?: string;
}

const STEP = 100;

/** A table that sorts. On a narrow screen the style sheet makes a card of each row. */
export function Table<T>(props: TableProps<T>) {
  const { caption, columns, rows, rowKey, sortBy = '', onOpen, footer, isWhole = false, look = '' } = props;
  const [order, setOrder] = useState(sortBy);
  const [shown, setShown] = useState(isWhole ? Number.POSITIVE_INFINITY : STEP);
  const sorted = sortRows(rows, columns, order);
  const visible = sorted.slice(0, shown);
  return (
    <div class="table-wrap">
      <table class={look}>
        <caption class="sr-only">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} order={order} onOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {visible.map((row) => (
            <tr
              key={rowKey(row)}
              class={onOpen ? 'opens' : ''}
              onClick={onOpen && ((event) => isOnControl(event) || onOpen(row))}
            >
              <Cells columns={columns} row={row} />
            </tr>
          ))}
        </tbody>
        {footer && <tfoot>{footer}</tfoot>}
      </table>
      {sorted.length > visible.length && (
        <p class="more">
          <button type="button" onClick={() => setShown(shown + STEP)}>
            Show {Math.min(STEP, sorted.length - visible.length)} more of {count(sorted.length)}
          </button>
        </p>
      )}
    </div>
  );
}

/** A row of the foot, which is not sorted. */
export function Row<T>(props: { columns: readonly Column<T>[]; row: T }) {
  return (
    <tr>
      <Cells {...props} />
    </tr>
  );
}

function Cells<T>({ columns, row }: { columns: readonly Column<T>[]; row: T }) {
  return (
    <>
      {columns.map((column) => (
        <Cell key={column.id} column={column} row={row} />
      ))}
    </>
  );
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  const name = column.numeric ? 'number' : '';
  if (column.head)
    return (
      <th scope="row" data-label={column.label}>
        {column.cell(row)}
      </th>
    );
  return (
    <td class={name} data-label={column.label}>
      {column.cell(row)}
    </td>
  );
}

interface HeadingProps<T> {
  column: Column<T>;
  order: string;
  onOrder(order: string): void;
}

function Heading<T>({ column, order, onOrder }: HeadingProps<T>) {
  const direction = order === column.id ? 'ascending' : order === `-${column.id}` ? 'descending' : 'none';
  const next = direction === 'ascending' ? `-${column.id}` : column.id;
  return (
    <th
      scope="col"
      class={column.numeric ? 'number' : ''}
      {...(column.sort ? { 'aria-sort': direction } : {})}
    >
      {column.sort ? (
        <button type="button" class="sorter" onClick={() => onOrder(next)}>
          {column.label}
          <span aria-hidden="true">
            {direction === 'ascending' ? ' ↑' : direction === 'descending' ? ' ↓' : ''}
          </span>
        </button>
      ) : (
        column.label
      )}
    </th>
  );
}

function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], order: string): readonly T[] {
  const descending = order.startsWith('-');
  const sort = columns.find(({ id }) => id === order.replace(/^-/, ''))?.sort;
  if (!sort) return rows;
  return rows
    .map((row) => ({ row, value: sort(row) }))
    .sort((a, b) => {
      if (a.value === undefined || b.value === undefined)
        return Number(a.value === undefined) - Number(b.value === undefined);
      const difference = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
      return descending ? -difference : difference;
    })
    .map(({ row }) => row);
}

function isOnControl({ target }: Event): boolean {
  return target instanceof Element && target.closest('a, button, input, select') !== null;
}
