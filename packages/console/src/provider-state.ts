import type { ProviderStatus } from '@sluice/shared/admin-api';
import { seconds } from './format.js';
import type { Tone } from './ui/small.js';

export interface ProviderState {
  tone: Tone;
  text: string;
}

/** Says why a provider, or one of its models, would not be called now, or that all is well. */
export function stateOf(provider: ProviderStatus | undefined, model?: string): ProviderState {
  if (!provider) return { tone: 'bad', text: 'not configured' };
  // A tier that is short of capacity leaves the model to all who ask for another.
  const cooling = provider.cool_downs.filter(
    (each) =>
      each.service_tier === null && (each.model === null || model === undefined || each.model === model),
  );
  const longest = Math.max(0, ...cooling.map(({ remaining_ms }) => remaining_ms));
  if (longest > 0) return { tone: 'warn', text: `cooling down, ${seconds(longest)}` };
  if (provider.paused) return { tone: 'warn', text: 'paused' };
  if (provider.circuit.state === 'open')
    return { tone: 'bad', text: `circuit open${untilText(provider.circuit.until)}` };
  if (provider.waiting >= provider.max_backlog) return { tone: 'bad', text: 'backlog full' };
  if (provider.active >= provider.concurrency) return { tone: 'warn', text: 'at its limit' };
  if (provider.circuit.state === 'failing') return { tone: 'warn', text: 'failing' };
  return { tone: 'good', text: 'healthy' };
}

function untilText(until: string | null): string {
  const left = until === null ? 0 : Date.parse(until) - Date.now();
  return left > 0 ? `, ${seconds(left)}` : ', probing';
}
