/** Files and batches, in the format of the official SDKs. Times are in seconds. */
import { textOrNull, usd, wholeOrNull } from './common.js';
import * as s from './structs.js';

/** What the lines of a batch ask for. They all name the same. */
export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/embeddings'] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

export function isBatchEndpoint(value: unknown): value is BatchEndpoint {
  return BATCH_ENDPOINTS.some((endpoint) => endpoint === value);
}

/** The batch's endpoint by that of its jobs, which is absent for a chat. */
export function pathOf(endpoint: 'embeddings' | undefined): BatchEndpoint {
  return endpoint ? '/v1/embeddings' : '/v1/chat/completions';
}

export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

const lineMistakes = s.fields({
  object: s.literal('list'),
  data: s.list(s.fields({ code: s.text(), line: wholeOrNull, message: s.text(), param: textOrNull })),
});

const batchFields = {
  id: s.text().about({ pattern: '^batch_' }),
  object: s.literal('batch'),
  endpoint: s.text(),
  errors: s.orNull(lineMistakes),
  input_file_id: s.text(),
  completion_window: s.text(),
  status: s.choice(...BATCH_STATUSES),
  output_file_id: textOrNull,
  error_file_id: textOrNull,
  created_at: s.whole(),
  in_progress_at: wholeOrNull,
  expires_at: s.whole(),
  finalizing_at: wholeOrNull,
  completed_at: wholeOrNull,
  failed_at: wholeOrNull,
  expired_at: wholeOrNull,
  cancelling_at: wholeOrNull,
  cancelled_at: wholeOrNull,
  request_counts: s.fields({ total: s.whole(), completed: s.whole(), failed: s.whole() }),
  usage: s.fields({
    input_tokens: s.whole(),
    input_tokens_details: s.fields({ cached_tokens: s.whole() }),
    output_tokens: s.whole(),
    output_tokens_details: s.fields({ reasoning_tokens: s.whole() }),
    total_tokens: s.whole(),
  }),
  metadata: s.orNull(s.record(s.text())),
};
export const batch = s.component('Batch', batchFields);
export type BatchObject = s.Infer<typeof batch>;

/** A batch, and what operators want to know beside it. */
export const batchView = s.component('BatchView', {
  ...batchFields,
  workspace: s.text(),
  cost_usd: usd,
  /** Lines that have been given to the queues. */
  fed: s.whole(),
  errors_by_code: s.record(s.whole()),
  /** Why no line is given to the queues at the moment. */
  waits_for: textOrNull,
  /** The part of the batch that is or was at the provider's own batch API. Null: no route of it asks for that. */
  provider_batches: s.orNull(
    s.fields({
      provider: s.text(),
      model: s.text(),
      /** When the first lines were handed over. Null: none were. */
      since: wholeOrNull,
      /** Lines that were handed over, and those of them that the provider has ended. */
      lines: s.whole(),
      ended: s.whole(),
      /** The provider's ids of its batches, the newest ones. */
      ids: s.list(s.text()),
      /** Why lines run one by one instead. Null: they do not. */
      one_by_one: textOrNull,
    }),
  ),
});
export type BatchView = s.Infer<typeof batchView>;

/** batches/routes.ts reads it in the words of the SDKs' own service. */
export const batchInput = s.fields({
  input_file_id: s.text(),
  endpoint: s.choice(...BATCH_ENDPOINTS),
  completion_window: s.text().about('From `15m` to `48h`, such as `24h`.'),
  metadata: s.optional(s.orNull(s.record(s.text()))),
  output_expires_after: s.optional(s.fields({ anchor: s.literal('created_at'), seconds: s.whole() })),
  dry_run: s.optional(s.flag.about('Only say what the batch would cost. Nothing is run or kept.')),
});

const costs = {
  expected_cost_usd: usd.about('By what the route has taken in the last days, where that is known.'),
  most_cost_usd: usd.about('99 of 100 batches cost no more.'),
  bound_cost_usd: usd.about(
    'It cannot cost more in one call for each line: the longest answers, the most tokens.',
  ),
};

/** What a batch would cost, and what would become of it. */
export const batchQuote = s.component('BatchQuote', {
  object: s.literal('batch.quote'),
  endpoint: s.choice(...BATCH_ENDPOINTS),
  input_file_id: textOrNull,
  lines: s.whole(),
  lines_read: s
    .whole()
    .about('Fewer than `lines`: the file took too long, and the rest is estimated by its bytes.'),
  unpriced_lines: s
    .whole()
    .about('Lines that may go to a model without a known price. All costs leave that out, bounds too.'),
  input_tokens: s.whole(),
  output_tokens: s.whole(),
  models: s
    .list(
      s.fields({
        model: s.text().about('As the lines name it.'),
        provider: s.text(),
        provider_model: s.text(),
        lines: s.whole(),
        input_tokens: s.whole(),
        output_tokens: s.whole(),
        is_priced: s.flag.about('False: the registry has no price, and the costs leave these lines out.'),
        is_measured: s.flag.about('The length of answers is that of the route in the last days.'),
        ...costs,
      }),
    )
    .about('Each line counts at the first entry of its chain, and in a group at each member by its weight.'),
  windows: s.list(
    s.fields({
      completion_window: s.text(),
      by: s.choice('gateway', 'provider_batch').about('Who runs the lines.'),
      ...costs,
      ends_at: wholeOrNull.about(
        'At the pace of today, in seconds. Null: the provider was not called lately, a budget has to renew first, or no line would be answered.',
      ),
      in_time: s
        .orNull(s.flag)
        .about('False also if the batch would fail for its `errors`, or no line of it would be answered.'),
    }),
  ),
  errors: s.orNull(lineMistakes).about('The batch would fail for these before anything is run.'),
  refused: s
    .list(
      s.fields({
        code: s.text(),
        message: s.text(),
        param: textOrNull,
        reason: s.text().about('As the log names it.'),
        lines: s.whole(),
        first_line: wholeOrNull.about('Null: it concerns the whole batch.'),
      }),
    )
    .about('What would not be answered.'),
});
export type BatchQuote = s.Infer<typeof batchQuote>;

export const batchOrQuote = s.chosen<BatchObject | BatchQuote>(
  { anyOf: [batch.json, batchQuote.json] },
  (value) => (s.isMap(value) && value.object === 'batch.quote' ? batchQuote : batch),
);

export const file = s.component('File', {
  id: s.text().about({ pattern: '^file-' }),
  object: s.literal('file'),
  bytes: s.whole(),
  created_at: s.whole(),
  expires_at: s.whole(),
  filename: s.text(),
  purpose: s.choice('batch', 'batch_output'),
  status: s.literal('processed'),
  status_details: s.any<null>({ type: 'null' }),
});
