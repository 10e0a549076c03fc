/**
 * The listener for operators: `/metrics`, `/healthz` (the process is up) and `/readyz` (the process can do its work). It
 * closes last, so that the last events are scraped too.
 */
import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { listen } from '../process/listen.js';
import { http } from '../process/node-http.js';
import type { Metrics } from './create.js';
import { collectEventLoopLag, SELDOM_MS } from './event-loop-lag.js';

/** A scraper that has not come for this long is taken to be gone. */
const SCRAPED_LATELY_MS = 120_000;

export interface MetricsServer {
  url: string;
  /**
   * Closes the listener. If a scraper comes here and something was counted since its last scrape, the listener first waits
   * for one more scrape, for `lingerMs` at most.
   */
  close(lingerMs: number): Promise<void>;
}

export interface MetricsServerOptions {
  host: string;
  port: number;
  metrics: Metrics;
  /** The problems that keep the process from its work. The process is ready when there are none. */
  problems(): string[];
  /** Things that an operator should change, although the process does its work. */
  warnings(): string[];
}

export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const runtime = new Registry();
  collectDefaultMetrics({ register: runtime, eventLoopMonitoringPrecision: SELDOM_MS });
  collectEventLoopLag(runtime);
  let scrapedAt = Number.NEGATIVE_INFINITY;
  let scraped = '';
  let onScrape = () => {};

  const server = http.createServer(async (request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/metrics') {
      try {
        const text = await options.metrics.text();
        response.writeHead(200, { 'content-type': runtime.contentType });
        response.end(`${text}${await runtime.metrics()}`, () => onScrape());
        scrapedAt = performance.now();
        scraped = text;
      } catch {
        response.writeHead(500).end();
      }
      return;
    }
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path === '/healthz') return answer(200, { status: 'ok' });
    if (path !== '/readyz') return answer(404, { status: 'not found' });
    const problems = options.problems();
    const warnings = options.warnings().filter((warning) => !problems.includes(warning));
    const told = warnings.length > 0 ? { warnings } : {};
    if (problems.length === 0) answer(200, { status: 'ok', ...told });
    else answer(503, { status: 'not ready', problems, ...told });
  });
  const url = await listen(server, options.port, options.host, 'METRICS_PORT');

  return {
    url,
    async close(lingerMs) {
      const isScraped = performance.now() - scrapedAt < SCRAPED_LATELY_MS;
      if (lingerMs > 0 && isScraped && counts(await options.metrics.text()) !== counts(scraped))
        await new Promise<void>((resolve) => {
          const timeUp = setTimeout(resolve, lingerMs);
          onScrape = () => {
            clearTimeout(timeUp);
            resolve();
          };
        });
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Keeps the counters and histograms. Nobody needs a gauge of a process that ends. */
function counts(text: string): string {
  return text
    .split('\n')
    .filter((line) => /^\w+_(?:total|count|sum)\b/.test(line))
    .join('\n');
}
