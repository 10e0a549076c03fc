import { InvoiceMistake } from './invoice.js';

/** Also of empty ones. */
const MAX_LINES = 100_000;
const MAX_CELLS = 64;
const MAX_CELL_CHARACTERS = 4_096;

/**
 * The records of a CSV text (RFC 4180) with the number of the line on which each begins. Each record is an object by the names
 * of the first one. Throws InvoiceMistake.
 */
export function* csvRecords(text: string): Generator<{ line: number; cells: Map<string, string> }> {
  let head: string[] | undefined;
  for (const { line, cells } of csvRows(text)) {
    if (line > MAX_LINES) throw new InvoiceMistake(undefined, `has more than ${MAX_LINES} lines`);
    if (cells.length === 1 && cells[0]?.trim() === '') continue;
    if (!head) {
      head = cells.map((cell) => cell.trim().toLowerCase());
      continue;
    }
    if (cells.length > head.length) throw new InvoiceMistake(line, 'has more cells than the first line');
    yield { line, cells: new Map(head.map((name, i) => [name, cells[i]?.trim() ?? ''])) };
  }
}

function* csvRows(text: string): Generator<{ line: number; cells: string[] }> {
  let line = 1;
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  while (at < text.length) {
    const first = line;
    const cells: string[] = [];
    for (let isEnd = false; !isEnd; ) {
      if (cells.length === MAX_CELLS) throw new InvoiceMistake(first, `has more than ${MAX_CELLS} cells`);
      let cell: string;
      if (text[at] === '"') {
        let end = at;
        do {
          end = text.indexOf('"', end + 1);
          if (end === -1) throw new InvoiceMistake(first, 'has a quotation mark that is not closed');
          if (text[end + 1] === '"') end++;
          else break;
        } while (end < text.length);
        cell = text.slice(at + 1, end).replaceAll('""', '"');
        at = end + 1;
      } else {
        let end = at;
        while (end < text.length && !',\r\n'.includes(text[end] ?? '')) end++;
        cell = text.slice(at, end);
        at = end;
      }
      if (cell.length > MAX_CELL_CHARACTERS)
        throw new InvoiceMistake(first, `has a cell of more than ${MAX_CELL_CHARACTERS} characters`);
      for (const character of cell) if (character === '\n') line++;
      cells.push(cell);
      if (text[at] === ',') at++;
      else if (at >= text.length || text[at] === '\n' || text[at] === '\r') isEnd = true;
      else throw new InvoiceMistake(first, 'has text after a quotation mark');
    }
    if (text[at] === '\r') at++;
    if (text[at] === '\n') at++;
    line++;
    yield { line: first, cells };
  }
}
