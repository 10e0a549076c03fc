/** A request as the request log has it. */
import type { ErrorCode } from '../errors.js';
import type { AttemptOutcome } from '../outcomes.js';
import type { Reason } from '../reasons.js';
import { type List, moment, picodollars, textOrNull, usd } from './common.js';
import { PRIORITIES } from './priority.js';
import * as s from './structs.js';

const ms = s.number({ min: 0 });

/** How many tokens of each type, and what each costs. No token is in two of them. */
const tokenTypes = {
  input: s.whole(),
  cached_input: s.whole(),
  cache_write: s.whole(),
  cache_write_1h: s.whole(),
  output: s.whole(),
};
export type TokenType = keyof typeof tokenTypes;

const attempt = s.fields({
  provider: s.text(),
  model: s.text(),
  outcome: s.text<AttemptOutcome>(),
  ...s.partial({
    status: s.whole(),
    /** Absent: the provider was not called. */
    ms,
    first_token_ms: s.whole().about('How long the first piece of an answer in pieces took.'),
    start_ms: s
      .whole()
      .about('When the call was sent or the entry passed over, in ms after the request was accepted.'),
    message: s.text().about('The provider’s own words, cleaned, without the prompt.'),
    why: s.text().about('Which field of the request the model does not take. It was passed over for that.'),
    adapted: s.list(s.text()).about('What was changed in the request for this model.'),
    upstream_id: s.text(),
    tier: s.text().about('The tier that the gateway chose. Absent: the caller’s, or the standard one.'),
    api: s.choice('responses', 'embeddings').about('The provider’s endpoint. Absent: the one for chats.'),
    /** It was no call, but a line of the provider's own batch, whose id is `upstream_id`. */
    via: s.literal('provider_batch'),
    billed: s.literal('unknown'),
    estimated_usd: usd,
    allowed_output: s
      .whole()
      .about(
        'The most output tokens that the call may have written. Only there when the provider reports more than that.',
      ),
    reported_usd: usd.about('What the provider says that the call cost, with `cost: reported`.'),
    listed_usd: usd.about('What it costs by the price list, beside `reported_usd`.'),
  }),
});
export type PresentedAttempt = s.Infer<typeof attempt>;

const priceOfCall = s.fields({
  registry: s.text(),
  model: s.text(),
  tier: s.text(),
  unit: s.literal('picodollars_per_token'),
  ...tokenTypes,
  request: s.optional(s.whole().about('Picodollars for each request.')),
});
export type PriceOfCall = s.Infer<typeof priceOfCall>;

export const loggedRequest = s.component('Request', {
  id: s.text(),
  object: s.literal('request'),
  /** The request's place in the log. */
  cursor: s.text(),
  accepted_at: moment,
  settled_at: moment,
  workspace: s.text(),
  key_id: s.text(),
  route: textOrNull,
  model: s.text(),
  status: s.whole(),
  code: s
    .orNull(s.text<ErrorCode | 'cancelled'>())
    .about('An error code, or `cancelled` when the caller hung up.'),
  /** Null: it was served, or an older version logged it. */
  reason: s.orNull(s.text<Reason>()).about('Why it was not served, one of the reasons in docs/errors.md.'),
  reason_text: textOrNull.about('The same as a sentence.'),
  queued: s.flag.about('False: it was refused before it was on a queue.'),
  count: s
    .whole()
    .about(
      'How many requests the entry stands for. More than 1: refusals that were logged together; the other fields are those of the first.',
    ),
  last_at: moment.about('When the last of them ended.'),
  provider: textOrNull,
  provider_model: textOrNull,
  fallback_used: s.flag.about(
    'Another entry of the chain than the first served it, or another member of a group than the chosen one.',
  ),
  priority: s.choice(...PRIORITIES).about('Its class.'),
  plan: s
    .orNull(
      s.fields({
        deadline_at: moment,
        via: s.orNull(s.choice('standard', 'flex', 'provider_batch')),
        standard_usd: s
          .orNull(usd)
          .about('What the answer would have cost at the standard tier when the request came.'),
        missed: s.flag,
      }),
    )
    .about('Set for a request with a deadline of its own: which way it went. Null: it had none.'),
  instead_of: textOrNull.about('What the caller named, where a spent budget sent it to another route.'),
  tags: s.record(s.text()),
  user: textOrNull.about('The caller’s own end user.'),
  duration_ms: ms.about('From accepted to settled.'),
  queue_ms: ms,
  latency_ms: s.orNull(ms),
  attempts: s.list(attempt),
  usage: s.orNull(s.fields(tokenTypes)),
  cost_usd: usd,
  cost_picodollars: picodollars,
  /** The cost does not include calls whose bill nobody knows. */
  billed: s.choice('exact', 'unknown').about('`unknown`: calls were sent whose bill nobody knows.'),
  estimated_usd: usd.about('What those calls may have cost. It is no part of the cost.'),
  estimated_picodollars: picodollars,
  cost_source: s
    .choice('list', 'reported')
    .about('Whether the cost is that of the price list, or what the provider reported.'),
  /** False: the request was served, but its price is not known. */
  priced: s.flag,
  price: s.orNull(priceOfCall),
});
export type PresentedRequest = s.Infer<typeof loggedRequest>;

/** What a page of the log has beside the requests. */
export const requestPage = {
  has_more: s.flag,
  next_before: textOrNull,
  /** False: PostgreSQL is away, or lacks entries that Redis no longer has. */
  complete: s.flag,
  problem: textOrNull.about('Why it is not complete, as a sentence.'),
};
export type RequestPage = List<PresentedRequest> & s.FieldsOf<typeof requestPage>;
