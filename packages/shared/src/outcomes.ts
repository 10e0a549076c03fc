/**
 * Every outcome that an entry of a chain can have. This table is the only list of them. It decides what the caller is
 * told, whether the next entry is tried, what the outcome says about the provider, and which metrics count it.
 */
import type { ErrorCode } from './errors.js';
import type { Reason } from './reasons.js';

interface OutcomeRow {
  /**
   * `served`: the provider answered. `failed`: the call failed at the provider. `ended`: the gateway ended or lost the
   * call. `blocked`: the provider was not called, because it is cooling down or has no room. `unsupported`: the provider
   * was not called, because its format cannot express the request.
   */
  kind: 'served' | 'failed' | 'ended' | 'blocked' | 'unsupported';
  /** Follows the names of provider and model in a message. Upstream's own text may quote a key or a prompt. */
  words: string;
  /** The caller's error when the chain ends here. */
  code?: ErrorCode;
  message?: string;
  /** The reason in the log when the chain ends here. */
  reason?: Reason;
  /** Whether the next entry of the chain is tried. */
  fallback: boolean;
  /** The outcome says that the whole provider is in trouble. `unless_prompt`: not if a single prompt causes it. */
  unhealthy?: 'always' | 'unless_prompt';
  /** Upstream's text is shown for the caller's own mistakes only. Elsewhere it names keys, organisations and hosts. */
  quotesUpstream?: true;
}

const NOT_CALLED = 'The provider was not called.';

export const OUTCOMES = {
  ok: { kind: 'served', words: 'answered', fallback: false },
  bad_request: {
    kind: 'failed',
    words: 'refused the request',
    code: 'invalid_request',
    message: 'The provider refused the request.',
    reason: 'provider_refused_request',
    fallback: false,
    quotesUpstream: true,
  },
  // It is about this model: another one of the chain may take the request.
  refused_field: {
    kind: 'failed',
    words: 'does not take a field of the request',
    code: 'invalid_request',
    message: 'The model does not take a field of the request.',
    reason: 'model_refused_field',
    fallback: true,
    quotesUpstream: true,
  },
  model_not_found: {
    kind: 'failed',
    words: 'does not know the model',
    code: 'model_not_found',
    message: 'The provider does not know the model.',
    reason: 'provider_unknown_model',
    fallback: true,
  },
  context_length: {
    kind: 'failed',
    words: 'finds the prompt too long',
    code: 'invalid_request',
    message: 'The request is longer than the context of the model.',
    reason: 'prompt_too_long',
    fallback: true,
    quotesUpstream: true,
  },
  // The provider refused the gateway's key, so this is never a 401 for the caller.
  auth: {
    kind: 'failed',
    words: 'refused the gateway’s credentials',
    code: 'provider_error',
    message: 'The provider refused the key of the gateway.',
    reason: 'provider_key_refused',
    fallback: true,
  },
  // Nothing was sent, because the variable with the provider's key is not set.
  no_key: {
    kind: 'failed',
    words: 'has no key in the gateway',
    code: 'provider_error',
    message: 'The operator of the gateway has set no key for the provider.',
    reason: 'provider_key_missing',
    fallback: true,
  },
  rate_limited: {
    kind: 'failed',
    words: 'is rate-limiting',
    code: 'rate_limited',
    message: 'The provider is rate limiting.',
    reason: 'provider_rate_limited',
    fallback: true,
  },
  // This request can never pass at this provider. The provider may still take all others.
  request_too_large: {
    kind: 'failed',
    words: 'found the request too large for its limits',
    code: 'request_too_large',
    message: 'The request is larger than the provider takes from the gateway within a minute.',
    reason: 'provider_request_too_large',
    fallback: true,
  },
  overloaded: {
    kind: 'failed',
    words: 'is overloaded',
    code: 'provider_unavailable',
    message: 'The provider is overloaded.',
    reason: 'provider_overloaded',
    fallback: true,
    unhealthy: 'always',
  },
  server_error: {
    kind: 'failed',
    words: 'failed',
    code: 'provider_error',
    message: 'The provider failed.',
    reason: 'provider_error',
    fallback: true,
    unhealthy: 'unless_prompt',
  },
  bad_response: {
    kind: 'failed',
    words: 'sent an unusable answer',
    code: 'provider_error',
    message: 'The provider sent an answer that is not a completion.',
    reason: 'provider_bad_answer',
    fallback: true,
    unhealthy: 'unless_prompt',
  },
  // The limit is the gateway's, so the outcome says nothing about the provider's health.
  too_large: {
    kind: 'failed',
    words: 'sent an answer that is too large',
    code: 'provider_error',
    message: 'The provider sent an answer that is too large.',
    reason: 'answer_too_large',
    fallback: true,
  },
  // The schema is the caller's, so the outcome says nothing about the provider's health.
  schema_mismatch: {
    kind: 'failed',
    words: 'sent an answer that does not fit the schema',
    code: 'provider_error',
    message: 'The provider sent an answer that does not fit the JSON schema of the request.',
    reason: 'answer_not_fitting',
    fallback: true,
  },
  connection: {
    kind: 'failed',
    words: 'could not be reached',
    code: 'provider_error',
    message: 'The provider could not be reached.',
    reason: 'provider_unreachable',
    fallback: true,
    unhealthy: 'always',
  },
  timeout: {
    kind: 'failed',
    words: 'did not answer in time',
    code: 'provider_timeout',
    message: 'The provider did not answer in time.',
    reason: 'provider_timeout',
    fallback: true,
    unhealthy: 'unless_prompt',
  },
  // An answer in pieces, before its first piece or in the middle.
  stalled: {
    kind: 'failed',
    words: 'fell silent',
    code: 'provider_timeout',
    message: 'The provider fell silent while it was answering.',
    reason: 'provider_timeout',
    fallback: true,
    unhealthy: 'unless_prompt',
  },
  cancelled: {
    kind: 'ended',
    words: 'was cancelled',
    code: 'service_unavailable',
    message: 'The call was cancelled.',
    reason: 'caller_left',
    fallback: false,
  },
  internal_error: {
    kind: 'ended',
    words: 'met a bug of the gateway',
    code: 'internal_error',
    message: 'The gateway failed; its log has the request id.',
    reason: 'internal_error',
    fallback: true,
  },
  // A worker died, or its connection broke, while the call may have been under way.
  unknown: {
    kind: 'ended',
    words: 'was interrupted',
    code: 'provider_error',
    message: 'The connection broke while the provider was being called.',
    reason: 'outcome_unknown',
    fallback: true,
    unhealthy: 'always',
  },
  cooldown: {
    kind: 'blocked',
    words: 'is cooling down after a rate limit',
    code: 'rate_limited',
    message: NOT_CALLED,
    reason: 'provider_cooling_down',
    fallback: true,
  },
  concurrency: {
    kind: 'blocked',
    words: 'is at its concurrency limit',
    code: 'rate_limited',
    message: NOT_CALLED,
    reason: 'waited_too_long',
    fallback: true,
  },
  limit: {
    kind: 'blocked',
    words: 'has used up its limit per minute',
    code: 'rate_limited',
    message: NOT_CALLED,
    reason: 'provider_rate_used_up',
    fallback: true,
  },
  workspace_limit: {
    kind: 'blocked',
    words: 'has to wait for the tokens per minute of the workspace',
    code: 'rate_limited',
    message: NOT_CALLED,
    reason: 'workspace_tokens_per_minute',
    fallback: true,
  },
  backlog: {
    kind: 'blocked',
    words: 'has too many requests waiting',
    code: 'rate_limited',
    message: NOT_CALLED,
    reason: 'backlog_full',
    fallback: true,
  },
  paused: {
    kind: 'blocked',
    words: 'is paused by the operator',
    code: 'provider_unavailable',
    message: NOT_CALLED,
    reason: 'provider_paused',
    fallback: true,
  },
  circuit_open: {
    kind: 'blocked',
    words: 'keeps failing and is not called for a while',
    code: 'provider_unavailable',
    message: NOT_CALLED,
    reason: 'circuit_open',
    fallback: true,
  },
  // The provider was configured when the request was accepted.
  removed: {
    kind: 'blocked',
    words: 'is not configured',
    code: 'provider_unavailable',
    message: NOT_CALLED,
    reason: 'provider_removed',
    fallback: true,
  },
  // The provider's translation names the field, with its own code and message.
  unsupported: {
    kind: 'unsupported',
    words: 'cannot take this request',
    reason: 'unsupported_by_provider',
    fallback: true,
  },
} as const satisfies Record<string, OutcomeRow>;

type Table = typeof OUTCOMES;
type Kind = OutcomeRow['kind'];

export type AttemptOutcome = keyof Table;
export type OutcomeOf<K extends Kind> = {
  [Outcome in AttemptOutcome]: Table[Outcome]['kind'] extends K ? Outcome : never;
}[AttemptOutcome];

/** A call that failed at the provider. */
export type FailedCall = OutcomeOf<'failed'>;
/** Why an entry is passed over without being called. */
export type BlockedOutcome = OutcomeOf<'blocked'>;

export function isOfKind<K extends Kind>(outcome: AttemptOutcome, kind: K): outcome is OutcomeOf<K> {
  return OUTCOMES[outcome]?.kind === kind;
}

/** During an upgrade a job may carry an outcome that only the newer version has. It counts as a failure. */
export function outcomeRow(outcome: AttemptOutcome): OutcomeRow {
  return OUTCOMES[outcome] ?? OUTCOMES.server_error;
}

const ALL = Object.keys(OUTCOMES) as AttemptOutcome[];

/** The outcomes of calls that were made. */
export const CALL_OUTCOMES = ALL.filter((outcome): outcome is OutcomeOf<'served' | 'failed' | 'ended'> =>
  ['served', 'failed', 'ended'].includes(OUTCOMES[outcome].kind),
);
export const BLOCKED_OUTCOMES = ALL.filter((outcome) => isOfKind(outcome, 'blocked'));
/** The outcomes after which a request goes on to its next entry. */
export const FALLBACK_OUTCOMES = ALL.filter((outcome) => OUTCOMES[outcome].fallback);

/** The caller is told to come back later, and `gateway_rate_limited_total` counts it. */
export function isRateLimit(outcome: BlockedOutcome): boolean {
  return OUTCOMES[outcome].code === 'rate_limited';
}
