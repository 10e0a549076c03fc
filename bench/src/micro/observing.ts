/** What it costs that a request is seen: its metrics and its log line, in both processes. */
import { ApiMetrics, CHAT_PATH } from '@sluice/api/cell/metrics';
import { RequestTally } from '@sluice/api/cell/request-tally';
import { toRequestLine } from '@sluice/api/http/request-line';
import { Metrics } from '@sluice/shared/metrics/create';
import { ModelLabels } from '@sluice/shared/metrics/labels';
import { WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import { createLineLogger, createLogger } from '@sluice/shared/process/logger';
import type { ChatJob, ReplyHead } from '@sluice/shared/queue/job';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { toAttemptLine } from '@sluice/worker/jobs/attempt-line';
import { WorkerMetrics } from '@sluice/worker/jobs/worker-metrics';
import type { Case } from './cost.js';

const MEASURES = { method: 'POST', path: CHAT_PATH, status: 200, code: 'ok', ms: 21.4 };

export function observingCases(
  registry: ModelRegistry,
  job: ChatJob,
  log: LogEntry,
  head: ReplyHead,
): Case[] {
  const kinds = new Map(job.chain.map(({ provider }) => [provider, { prices: provider }]));
  const apiMetrics = new Metrics('api');
  const api = new ApiMetrics(apiMetrics, kinds.keys());
  const tally = new RequestTally(apiMetrics, new WorkspaceLabels(50));
  const models = new ModelLabels(() => registry, kinds);
  const worker = new WorkerMetrics(
    new Metrics('worker'),
    models,
    kinds.keys(),
    [],
    [],
    new WorkspaceLabels(50),
  );
  const logger = createLogger('bench', 'info', { write: () => true });
  const logLine = createLineLogger(logger, 'request');
  const [entry = { provider: '', model: '' }] = job.chain;
  const { provider, model } = entry;
  const [attempt = { provider, model, outcome: 'ok' as const }] = job.attempts;
  const state = {
    requestId: job.requestId,
    startedAt: 0,
    key: { id: job.keyId, workspace: job.workspace, name: 'bench', lastFour: '', created: 0 },
    route: job.route,
    reply: { head, replayed: false },
  };
  return [
    {
      name: 'metrics of a request, api',
      run() {
        api.began();
        api.replied(head, MEASURES.ms);
        api.ended(MEASURES.path, MEASURES.method, MEASURES.status, MEASURES.code, MEASURES.ms / 1000);
        tally.count(job.workspace, job.route, undefined, MEASURES.ms / 1000);
      },
    },
    {
      name: 'metrics of a request, worker',
      run() {
        worker.waited(entry.provider, undefined, 1);
        worker.called(entry, 'ok', 20);
        worker.settled(log);
      },
    },
    { name: 'log line, api', run: () => logLine(toRequestLine(state, MEASURES)) },
    { name: 'log line, worker', run: () => logger.info(toAttemptLine(job, attempt), 'attempt') },
  ];
}
