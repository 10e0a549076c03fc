/** An environment without these variables, by value or by file: a process is given only the secrets that it needs. */
export function withoutSecrets(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  const left = new Set(names.flatMap((name) => [name, `${name}_FILE`]));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !left.has(name)));
}
