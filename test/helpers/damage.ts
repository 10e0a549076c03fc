/** A good value with something else put into one place of it. */

export type Path = (string | number)[];

export const ABSENT = Symbol('absent');

/** Every place of the value, the whole first. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, child]) =>
    pathsIn(child, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return [path, ...inner];
}

export function damaged(value: unknown, [step, ...rest]: Path, by: unknown): unknown {
  if (step === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  const child = damaged(copy[step], rest, by);
  if (child !== ABSENT) copy[step] = child;
  else if (Array.isArray(copy)) copy.splice(Number(step), 1);
  else delete copy[step];
  return copy;
}

/**
 * What is said about the value when each of these is put into each place, as lines such as `limits.weight = 0, -1: …`.
 * `refusalOf` returns undefined for a value that is taken.
 */
export async function refusalsOf(
  good: unknown,
  damages: readonly unknown[],
  refusalOf: (value: unknown) => string | undefined | Promise<string | undefined>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const path of pathsIn(good)) {
    const causes = new Map<string, string[]>();
    for (const damage of damages) {
      const value = damaged(good, path, damage);
      const refusal = value === ABSENT ? undefined : await refusalOf(value);
      if (refusal === undefined) continue;
      causes.set(refusal, [
        ...(causes.get(refusal) ?? []),
        damage === ABSENT ? 'absent' : JSON.stringify(damage),
      ]);
    }
    for (const [refusal, list] of causes)
      lines.push(`${path.join('.') || 'the whole'} = ${list.join(', ')}: ${refusal}\n`);
  }
  return lines;
}
