/** The forms in which options and arguments are written. Each throws a sentence that completes "… is invalid." */
import { spanOf, timeOf } from '@sluice/shared/contract/query';
import { InvalidArgumentError } from 'commander';

/** `90s`, `30m`, `12h`, `7d`, `2w`, in ms. */
export function parseSpan(text: string): number {
  const span = spanOf(text);
  if (span === undefined)
    throw new InvalidArgumentError('Write a time span such as 90s, 30m, 12h, 7d or 2w.');
  return span;
}

/** A moment (`2027-01-31`, `2027-01-31T12:00:00Z`), or a span from now in the given direction. In ISO 8601. */
export function parseMoment(direction: 'past' | 'future'): (text: string) => string {
  return (text) => {
    if (/^\d+[a-z]$/.test(text))
      return new Date(Date.now() + (direction === 'past' ? -1 : 1) * parseSpan(text)).toISOString();
    const time = timeOf(text, 0);
    if (Number.isNaN(time))
      throw new InvalidArgumentError(
        'Write a time span such as 12h or 7d, a date such as 2027-01-31, or a moment such as 2027-01-31T12:00:00Z.',
      );
    return new Date(time).toISOString();
  };
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Write a whole number from 1.');
  return Number(text);
}

export function parseAmount(text: string): number {
  if (!/^\d{1,9}(\.\d{1,12})?$/.test(text)) throw new InvalidArgumentError('Write a number such as 0.15.');
  return Number(text);
}

/** Commander turns a null that a parser returns into '', so that `none` has to stand for itself. */
export function orWord<const W extends string, T>(
  word: W,
  parse: (text: string) => T,
): (text: string) => T | W {
  return (text) => (text === word ? word : parse(text));
}

/** `provider/model`; the model's own name may hold further slashes. */
export function parseModelName(text: string): { provider: string; model: string } {
  const [, provider, model] = /^([^/]+)\/(.+)$/.exec(text) ?? [];
  if (provider === undefined || model === undefined)
    throw new InvalidArgumentError('Write <provider>/<model>, such as openai/gpt-4o-mini.');
  return { provider, model };
}
