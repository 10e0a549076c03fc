/** A real Prometheus with the repository's prometheus.yml, changed only where it says whom to ask and how often. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { ownPort } from './own-port.js';
import { PROMETHEUS, programOf } from './tools.js';
import { until } from './until.js';
import { spawnWithParent } from './with-parent.js';

export const REPOSITORY = new URL('../../../', import.meta.url);

export interface Series {
  metric: Record<string, string>;
  value: number;
}

export interface PrometheusServer {
  url: string;
  /** An instant query. Throws what Prometheus finds wrong with it. */
  query(expr: string): Promise<Series[]>;
  get(path: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** `targets`: job → addresses. Files are read again when they change, so a target may be added. */
export async function startPrometheus(
  targets: () => Record<string, string[]>,
  scrapeInterval: string,
): Promise<PrometheusServer & { retarget(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'));
  const config = parse(readFileSync(new URL('prometheus.yml', REPOSITORY), 'utf8'));
  config.global = { scrape_interval: scrapeInterval, evaluation_interval: scrapeInterval };
  config.rule_files = config.rule_files.map((path: string) => fileURLToPath(new URL(path, REPOSITORY)));
  for (const job of config.scrape_configs) {
    delete job.dns_sd_configs;
    job.file_sd_configs = [{ files: [join(folder, `${job.job_name}.json`)], refresh_interval: '1s' }];
  }
  const retarget = () => {
    for (const [job, addresses] of Object.entries(targets()))
      writeFileSync(join(folder, `${job}.json`), JSON.stringify([{ targets: addresses }]));
  };
  retarget();
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const port = await ownPort();
  const url = `http://127.0.0.1:${port}`;
  const child: ChildProcess = spawnWithParent(
    [
      programOf(PROMETHEUS),
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const ended = once(child, 'exit');
  await until('Prometheus is ready', async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended:\n${printed}`);
    return fetch(`${url}/-/ready`).then(
      (response) => response.ok,
      () => false,
    );
  });

  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== 'success') throw new Error(`${decodeURIComponent(path)}: ${body.error}`);
    return body.data;
  };
  return {
    url,
    get,
    retarget,
    async query(expr) {
      const data = (await get(`/api/v1/query?query=${encodeURIComponent(expr)}`)) as {
        result: { metric: Record<string, string>; value: [number, string] }[];
      };
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
