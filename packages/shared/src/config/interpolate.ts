import { type Env, lookupEnv } from './env-lookup.js';

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const REFERENCE = new RegExp(`^(${NAME})(?::-([^}]*))?$`);
const SECRET = new RegExp(`^\\$\\{(${NAME})\\}$`);

export function hasReference(text: string): boolean {
  return text.includes('${');
}

/** Replaces `${NAME}` and `${NAME:-default}`; `$${` stands for a literal `${`. Inserted text is not interpolated again. */
export function interpolate(text: string, env: Env, mistake: (message: string) => void): string {
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

/** The variable that a secret is read from, or undefined when the text is not exactly one plain reference. */
export function secretVariable(text: string): string | undefined {
  return SECRET.exec(text.trim())?.[1];
}
