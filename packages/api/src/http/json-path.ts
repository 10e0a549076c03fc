import { endOfString } from '@sluice/shared/json/end-of-string';

/** A path is cut at this length, because callers choose its keys. */
const MAX_PATH = 160;

type Step = string | number;

/** A path such as `messages[0].content`. Null for the whole body, and for a body that is an array. */
export function toPath(steps: readonly Step[]): string | null {
  if (typeof steps[0] !== 'string') return null;
  const path = steps
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${step}`))
    .join('');
  return path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…`;
}

/**
 * The path of the array or object that is open at `offset` of a JSON text. It reads the text from the start, so it is only
 * for refusals.
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
