import { Reference } from '../contract/references.js';
import { isMap } from '../contract/structs.js';
import { type Env, lookupEnv } from './env-lookup.js';

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const REFERENCE = new RegExp(`^(${NAME})(?::-([^}]*))?$`);

export function hasReference(text: string): boolean {
  return text.includes('${');
}

/** Replaces `${NAME}` and `${NAME:-default}`; `$${` stands for a literal `${`. Inserted text is not interpolated again. */
function interpolate(text: string, env: Env, mistake: (message: string) => void): string {
  return text.replace(
    /\$\$\{|\$\{([^}]*)(\}?)/g,
    (match, body: string | undefined, close: string | undefined) => {
      if (match === '$${') return '${';
      const [, name, fallback] = (close && REFERENCE.exec(body ?? '')) || [];
      if (name === undefined) {
        mistake('has a broken reference; write ${NAME} or ${NAME:-default}, and $${ for a literal ${');
        return '';
      }
      const looked = lookupEnv(env, name);
      if (looked.mistake !== undefined) mistake(looked.mistake);
      else if (looked.value === undefined && fallback === undefined) {
        mistake(`the environment variable ${name} is not set; set it, or write \${${name}:-default}`);
      }
      return looked.value ?? fallback ?? '';
    },
  );
}

/** The value with a reference in the place of each text that names variables. An alias of YAML may lead back into itself. */
export function withReferences(value: unknown, env: Env, seen = new Map<unknown, unknown>()): unknown {
  if (typeof value === 'string')
    return hasReference(value) ? new Reference(value, (mistake) => interpolate(value, env, mistake)) : value;
  if (!Array.isArray(value) && !isMap(value)) return value;
  const known = seen.get(value);
  if (known) return known;
  const copy: object = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  // A key may be __proto__, which cannot be assigned to.
  for (const [key, each] of Object.entries(value))
    Object.defineProperty(copy, key, {
      value: withReferences(each, env, seen),
      configurable: true,
      enumerable: true,
      writable: true,
    });
  return copy;
}
