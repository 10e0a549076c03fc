import type { PresentedRequest } from '@sluice/shared/admin-api';
import { moment, whole } from './format.js';
import type { Style } from './style.js';
import type { Column } from './table.js';

export function requestColumns(style: Style): Column<PresentedRequest>[] {
  return [
    { title: 'ENDED', usual: 23, cell: (request) => moment(request.settled_at) },
    {
      title: 'STATUS',
      right: true,
      cell: (request) => String(request.status),
      paint: ({ status }) => (status < 400 ? style.good : style.bad),
    },
    { title: 'WORKSPACE', usual: 12, cell: (request) => request.workspace },
    { title: 'MODEL', usual: 16, cell: (request) => request.model },
    {
      title: 'SERVED BY',
      usual: 28,
      cell: ({ provider, provider_model }) => (provider === null ? '' : `${provider}/${provider_model}`),
    },
    { title: 'CALLS', right: true, cell: (request) => String(request.attempts.length) },
    { title: 'QUEUE MS', right: true, cell: (request) => whole(request.queue_ms) },
    { title: 'LATENCY MS', right: true, cell: (request) => whole(request.latency_ms) },
    { title: 'IN', right: true, cell: ({ usage }) => whole(usage && promptTokens(usage)) },
    { title: 'OUT', right: true, cell: ({ usage }) => whole(usage?.output) },
    { title: 'USD', usual: 9, right: true, cell: ({ priced, cost_usd }) => (priced ? cost_usd : 'unknown') },
    {
      title: 'CODE',
      usual: 14,
      cell: ({ code, count }) => (count > 1 ? `${code} × ${whole(count)}` : (code ?? '')),
    },
    { title: 'REASON', usual: 20, cell: ({ reason }) => reason ?? '' },
    { title: 'ID', cell: (request) => request.id },
  ];
}

function promptTokens(usage: NonNullable<PresentedRequest['usage']>): number {
  return usage.input + usage.cached_input + usage.cache_write + usage.cache_write_1h;
}
