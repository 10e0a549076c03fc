import type { AttemptOutcome } from '@sluice/shared/outcomes';
import type { Tone } from './ui/small.js';

/** What became of an attempt, in words. */
const OUTCOMES: Readonly<Record<AttemptOutcome, string>> = {
  ok: 'answered',
  bad_request: 'refused the request',
  refused_field: 'does not take a field of the request',
  model_not_found: 'does not know the model',
  context_length: 'found the prompt too long',
  auth: 'refused the gateway’s credentials',
  no_key: 'not called: no key is set for it',
  rate_limited: 'was rate-limiting',
  request_too_large: 'found the request too large for its limits',
  overloaded: 'was overloaded',
  server_error: 'failed',
  bad_response: 'sent an unusable answer',
  too_large: 'sent an answer that is too large',
  schema_mismatch: 'sent an answer that does not fit the schema',
  connection: 'could not be reached',
  timeout: 'did not answer in time',
  stalled: 'fell silent',
  cancelled: 'was stopped: the caller hung up',
  cooldown: 'passed over: cooling down',
  concurrency: 'passed over: no turn in time',
  limit: 'passed over: the limit per minute is used up',
  workspace_limit: 'passed over: the tokens per minute of the workspace are used up',
  backlog: 'passed over: too many waiting',
  paused: 'passed over: its queue is paused',
  circuit_open: 'passed over: circuit open',
  removed: 'passed over: not configured',
  unsupported: 'passed over: cannot take the request',
  internal_error: 'met a bug of the gateway',
  unknown: 'interrupted: its worker died',
};

/** During an upgrade the log may have an outcome that this page does not know yet. */
export function outcomeText(outcome: AttemptOutcome): string {
  return OUTCOMES[outcome] ?? outcome;
}

export function outcomeTone(outcome: AttemptOutcome): Tone {
  if (outcome === 'ok') return 'good';
  return outcome === 'cancelled' || outcomeText(outcome).startsWith('passed over') ? 'warn' : 'bad';
}

export function statusTone(status: number): Tone {
  if (status < 400) return 'good';
  return status === 499 ? 'quiet' : status < 500 ? 'warn' : 'bad';
}
