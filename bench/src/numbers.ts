export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** How far apart the lowest and the highest are, as a part of the median. */
export function spread(values: readonly number[]): number {
  const range = Math.max(...values) - Math.min(...values);
  return range === 0 ? 0 : range / median(values);
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Of one to another in the same round, so that a machine that grows slower or faster does so for both. */
export function medianRatio<Sample>(
  samples: readonly Sample[],
  others: readonly Sample[],
  value: (sample: Sample) => number,
): number {
  return median(samples.map((sample, i) => value(sample) / value(others[i] as Sample)));
}

/** The median of every field; fields that are records of numbers likewise. */
export function medianOf<Sample extends object>(samples: readonly Sample[]): Sample {
  const [first] = samples;
  if (first === undefined) throw new Error('no samples');
  const fields = Object.entries(first).map(([name, value]) => {
    const values = samples.map((sample) => Reflect.get(sample, name) as number & object);
    return [name, typeof value === 'number' ? median(values) : medianOf(values)];
  });
  return Object.fromEntries(fields) as Sample;
}
