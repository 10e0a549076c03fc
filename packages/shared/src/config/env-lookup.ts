import { readFileSync } from 'node:fs';

export type Env = Readonly<Record<string, string | undefined>>;

/** At most one of the two is present. Both are absent when the variable is not set. */
export interface Looked {
  value?: string;
  mistake?: string;
}

/** The value of NAME, or the content of the file that NAME_FILE names. Empty or blank counts as not set. */
export function lookupEnv(env: Env, name: string): Looked {
  const value = own(env, name);
  const file = own(env, `${name}_FILE`);
  if (file === undefined) return value === undefined ? {} : { value };
  if (value !== undefined) return { mistake: `${name} and ${name}_FILE are both set; set one of them` };
  try {
    const content = readFileSync(file, 'utf8').trim();
    return content === '' ? { mistake: `the file that ${name}_FILE names is empty` } : { value: content };
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    return { mistake: `the file that ${name}_FILE names cannot be read${reason}` };
  }
}

// process.env inherits from Object.prototype: without this, `toString` would be a variable.
function own(env: Env, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name]?.trim() || undefined : undefined;
}
