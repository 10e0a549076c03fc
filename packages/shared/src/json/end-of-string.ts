const QUOTE = 34;
const BACKSLASH = 92;

/** Most strings are shorter than this. For a longer one the native search is several times as fast. */
const SHORT = 64;

/** Where the string that opens at `start` has its closing quote, or the text's length when it has none. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (const near = Math.min(at + SHORT, text.length); at < near; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    // An even number of backslashes escape each other, so the quote is a real one.
    let first = quote;
    while (first > at && text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote;
    at = quote + 1;
  }
  return text.length;
}
