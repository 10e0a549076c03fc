import { readFileSync, statSync } from 'node:fs';

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
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const advice = code === 'EACCES' ? adviceFor(file) : '';
    return { mistake: `the file that ${name}_FILE names cannot be read (${code})${advice}` };
  }
}

/** A secret is often mounted as a file of root, which a process without rights cannot open. */
function adviceFor(file: string): string {
  try {
    const user = process.geteuid?.();
    const { uid, mode } = statSync(file);
    const permissions = (mode & 0o777).toString(8).padStart(4, '0');
    return `: it belongs to user ${uid} with mode ${permissions}, and this process runs as user ${user}. Run "chown ${user}" and "chmod 0400" on it where it is mounted from`;
  } catch {
    return ': this process may not enter its folder';
  }
}

// process.env inherits from Object.prototype: without this, `toString` would be a variable.
function own(env: Env, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name]?.trim() || undefined : undefined;
}
