/** Fields are in snake_case outside, and in camelCase in the code. */

type CamelName<N> = N extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelName<Rest> & string>}`
  : N;

export type CamelFields<T> = { [K in keyof T as CamelName<K & string> & string]: T[K] };

export function camelName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

export function toCamel<T extends object>(fields: T): CamelFields<T> {
  const entries = Object.entries(fields).map(([name, value]) => [camelName(name), value]);
  return Object.fromEntries(entries) as CamelFields<T>;
}

export function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function toSnake(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeName(name), value]));
}

export function pick<T, K extends keyof T>(fields: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<T, K>;
}
