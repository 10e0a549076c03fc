/** The samples of a `/metrics` page, as Prometheus would read them. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export async function scrape({ metricsUrl }: { metricsUrl: string }): Promise<Sample[]> {
  const response = await ask(`${metricsUrl}/metrics`);
  if (response.status !== 200) throw new Error(`${metricsUrl}/metrics: ${response.status}`);
  return parseSamples(await response.text());
}

/**
 * By a connection of its own: a kept one may be closed by the other side while this process stands still for a while. A new one
 * may be closed for the same reason before its question was sent, so it is asked twice.
 */
async function ask(url: string): Promise<Response> {
  const headers = { connection: 'close' };
  try {
    return await fetch(url, { headers });
  } catch {
    return await fetch(url, { headers });
  }
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
