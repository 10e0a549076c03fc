/**
 * JSON with numbers that pass as they were written. JavaScript's numbers change some of them: 12345678901234567890 becomes
 * 12345678901234567000, 1.0 becomes 1, and 1e400 becomes null. Such a number is kept as its text, in an object that no
 * JSON from outside can hold: its only key is a secret of this process. A text without such numbers costs one look at it.
 */
import { randomBytes } from 'node:crypto';
import { endOfString } from './end-of-string.js';

const KEY = `number ${randomBytes(16).toString('base64url')}`;
const KEPT = `{"${KEY}":"`;
const EACH_KEPT = new RegExp(`\\{"${KEY}":"([^"]*)"\\}`, 'g');

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Every whole number of so many digits is exact. */
const EXACT_DIGITS = 15;

const QUOTE = 34;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;

/** Like JSON.parse, with the numbers that would change kept as their text. */
export function parseExactly(text: string): unknown {
  return JSON.parse(/^\s*[[{]/.test(text) ? keepNumbers(text) : text);
}

/** Like JSON.stringify, for what may hold numbers that were kept. */
export function writeExactly(value: object): string {
  const json = JSON.stringify(value);
  return json.includes(KEPT) ? json.replace(EACH_KEPT, '$1') : json;
}

export function isKeptNumber(value: unknown): boolean {
  return typeof value === 'object' && value !== null && KEY in value;
}

/** The nearest that JavaScript has, for calculating; any other value as it is. */
export function toPlainNumber(value: unknown): unknown {
  return isKeptNumber(value) ? Number((value as Record<string, string>)[KEY]) : value;
}

function keepNumbers(text: string): string {
  const pieces: string[] = [];
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at);
      if (mayChange(text, at, end)) {
        const number = text.slice(at, end);
        // What is no number is left for the parser to refuse.
        if (String(Number(number)) !== number && NUMBER.test(number)) {
          pieces.push(text.slice(copied, at), KEPT, number, '"}');
          copied = end;
        }
      }
      at = end - 1;
    }
  }
  return copied === 0 ? text : pieces.join('') + text.slice(copied);
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isInNumber(text.charCodeAt(end))) end++;
  return end;
}

/** Digits, and `+ - . E e`. */
function isInNumber(code: number): boolean {
  return (
    (code >= ZERO && code <= NINE) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101
  );
}

/** Short whole numbers, which nearly all are, do not. */
function mayChange(text: string, start: number, end: number): boolean {
  if (end - start > EXACT_DIGITS) return true;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return true;
  }
  return false;
}
