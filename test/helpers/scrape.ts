/** The samples of a `/metrics` page, as Prometheus would read them. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export async function scrape({ metricsUrl }: { metricsUrl: string }): Promise<Sample[]> {
  // By a connection of its own: a kept one may be closed by the other side while this process stops for a while.
  const response = await fetch(`${metricsUrl}/metrics`, { headers: { connection: 'close' } });
  if (response.status !== 200) throw new Error(`${metricsUrl}/metrics: ${response.status}`);
  return parseSamples(await response.text());
}

export function parseSamples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** The sum of the samples of this name that have these labels; undefined when there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
