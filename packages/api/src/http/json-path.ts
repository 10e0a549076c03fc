import { endOfString } from '@sluice/shared/json/end-of-string';

/** The keys in a path are the caller's, of any length. */
const MAX_PATH = 160;

type Step = string | number;

/** As in `messages[0].content`; null for the whole body, and in a body that is an array: it has no fields to name. */
export function toPath(steps: readonly Step[]): string | null {
  if (typeof steps[0] !== 'string') return null;
  const path = steps
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${step}`))
    .join('');
  return path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…`;
}

/**
 * The path of the array or object that is open at `offset` of a JSON text. It reads the text from its start, so it is for
 * refusals only.
 */
export function containerAt(text: string, offset: number): string | null {
  const open: Step[] = [];
  let lastString = '';
  for (let at = 0; at <= offset && at < text.length; at++) {
    const last = open.length - 1;
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        lastString = text.slice(at + 1, Math.min(end, at + MAX_PATH));
        at = end;
        break;
      }
      case ':':
        open[last] = lastString;
        break;
      case ',': {
        const step = open[last];
        if (typeof step === 'number') open[last] = step + 1;
        break;
      }
      case '{':
        open.push('');
        break;
      case '[':
        open.push(0);
        break;
      case '}':
      case ']':
        open.pop();
        break;
    }
  }
  return toPath(open.slice(0, -1));
}
