/** Saves a file that was made or fetched in the page: the token is in no address. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** RFC 4180. A spreadsheet runs a cell that begins like a formula, so such a text gets a quote before it. */
export function toCsv(rows: readonly (readonly (string | number)[])[]): Blob {
  const cell = (value: string | number) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return new Blob(
    rows.map((row) => `${row.map(cell).join(',')}\r\n`),
    { type: 'text/csv;charset=utf-8' },
  );
}
