/**
 * Hides a provider's key in the errors that the provider sends: as it is, without its prefix, and in base64, hex or percent
 * encoding, also as a part of a longer text that was encoded, such as `user:key`.
 */

/** What is shown of an error is far shorter. A larger one is not searched, and not shown. */
const MOST_CHARACTERS = 65_536;
/** Shorter ones would hide ordinary words. */
const SHORTEST_ENCODED = 16;
/** `sk-`, `sk-proj-`, `sk-ant-api03-`, `gsk_` and others like them. */
const PREFIX = /^[a-z][a-z\d]{0,7}[-_](?:(?:proj|svcacct|admin|ant|or|live|test|api\d*|v\d)[-_])*/i;
/** Providers have few keys. Tokens are renewed once in a while. */
const MOST_PATTERNS = 100;

const patterns = new Map<string, RegExp>();

/** For `JSON.parse`: hides the secrets in all strings of one text. */
export function hideSecrets(secrets: readonly string[]): (name: string, value: unknown) => unknown {
  let left = MOST_CHARACTERS;
  return (_, value) => {
    if (typeof value !== 'string') return value;
    left -= value.length;
    if (left < 0) return '';
    return secrets.reduce((shown, secret) => shown.replace(patternOf(secret), '[redacted]'), value);
  };
}

function patternOf(secret: string): RegExp {
  const known = patterns.get(secret);
  if (known) return known;
  const bare = secret.replace(PREFIX, '');
  const forms = [secret, ...(bare === secret || bare.length < SHORTEST_ENCODED ? [] : [bare])];
  const encoded = forms.filter(({ length }) => length >= SHORTEST_ENCODED);
  const made = new RegExp(
    [...forms.map(percent), ...encoded.map(hex), ...encoded.flatMap(base64)].join('|'),
    'g',
  );
  if (patterns.size >= MOST_PATTERNS) patterns.clear();
  patterns.set(secret, made);
  return made;
}

/** Each byte as it is or as `%6B`, so that it does not matter which of them are encoded. */
function percent(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `(?:\\x${byte.toString(16).padStart(2, '0')}|%${anyCase(byte)})`)
    .join('');
}

function hex(text: string): string {
  return [...Buffer.from(text)].map(anyCase).join('');
}

function anyCase(byte: number): string {
  const digits = byte.toString(16).padStart(2, '0');
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The text may begin at any of three places of a group of base64. Characters that depend on its neighbours are left out. */
function base64(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.from('\0'.repeat(before) + text);
    const whole = bytes.toString('base64').replaceAll('=', '');
    const own = whole.slice(before === 0 ? 0 : before + 1, bytes.length % 3 === 0 ? undefined : -1);
    return own.replaceAll('+', '(?:[+-]|%2[bB])').replaceAll('/', '(?:[/_]|%2[fF])');
  });
}
