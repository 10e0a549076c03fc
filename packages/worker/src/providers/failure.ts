import { type AttemptOutcome, OUTCOMES } from '@sluice/shared/outcomes';
import type { ProviderFailure } from './types.js';

/** A failure in the gateway's terms. For connection failures, timeouts and unusable answers this is all there is. */
export function failureOf(
  outcome: Exclude<AttemptOutcome, 'ok' | 'unsupported'>,
  status?: number,
): ProviderFailure {
  const { code, message, fallback } = OUTCOMES[outcome];
  const failure: ProviderFailure = { outcome, code, message, fallback };
  if (status !== undefined) failure.status = status;
  return failure;
}
