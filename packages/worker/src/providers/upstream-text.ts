const MAX_LENGTH = 500;

/** Providers quote the key they were given, and the operator's organisation, in their messages. */
const SECRETS: readonly RegExp[] = [
  /\bBearer\s+\S+/gi,
  /\b(?:sk|pk|rk)[-_][\w*.-]+/gi,
  /\bgw_live_\w+/gi,
  /\b(?:org-|proj_)\w{6,}/g,
  /\b(?:Team|API key ID): [^\s,]+/g,
];

/** Control and format characters (bidi overrides among them) and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Makes an upstream message fit to show: one line, no control characters, no key, at most 500 characters. */
export function cleanUpstreamText(text: string): string {
  // Cut first, so that a huge body costs little; four times the limit leaves room for what is removed.
  let clean = text
    .slice(0, MAX_LENGTH * 4)
    .replace(/\s+/g, ' ')
    .replace(UNPRINTABLE, '');
  for (const secret of SECRETS) clean = clean.replace(secret, '[redacted]');
  clean = clean.trim();
  return clean.length <= MAX_LENGTH ? clean : `${clean.slice(0, MAX_LENGTH - 1).replace(UNPRINTABLE, '')}…`;
}
