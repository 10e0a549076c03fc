/** The ledger beside a provider's own account of a month, and the adjustments that follow from it. */
import { ID, type List, moment, textOrNull, usd } from './common.js';
import * as s from './structs.js';

/** Longer than a month of every model, project and kind of token takes. */
export const MAX_INVOICE_CHARACTERS = 8 * 1024 * 1024;

export const MONTH: s.TextRule = {
  pattern: /^20\d\d-(?:0[1-9]|1[0-2])$/,
  allowed: 'a month such as 2026-10',
};

export const reconcileInput = s.component('ReconcileInput', {
  provider: s.textOf(ID).about('A provider of this gateway.'),
  month: s.textOf(MONTH).about('A month of UTC, such as 2026-10.'),
  invoice: s
    .ruled<string>({ type: 'string', minLength: 1, maxLength: MAX_INVOICE_CHARACTERS }, (text) =>
      typeof text === 'string' && text.length > 0 && text.length <= MAX_INVOICE_CHARACTERS
        ? undefined
        : `must be the text of a file of up to ${MAX_INVOICE_CHARACTERS} characters`,
    )
    .about('The text of the provider’s file: CSV or JSON of its costs.'),
  settle: s.withDefault(s.flag.about('Make the adjustments that bring the ledger to the invoice.'), false),
});

/** Why the two sides differ. */
export const EXPLANATIONS = {
  rounding: 'The provider rounds its lines.',
  unknown_bills: 'Calls whose bill nobody knew when they ended.',
  cached_tokens: 'The provider counts other tokens as cached.',
  tiers: 'The provider bills lines of another tier, or of long prompts.',
  price: 'The price in the registry is another.',
  beside_gateway: 'Traffic beside the gateway, or of another one.',
  fewer_tokens: 'The provider bills fewer tokens than the gateway has counted.',
  midnight: 'Calls around midnight are of one day here, and of the other there.',
  other_charges: 'Charges that are not for the tokens of a model.',
  missing_day: 'The file has no line of this day.',
  not_billed: 'The file has no line of this model on this day.',
  unexplained: 'Nothing explains it.',
} as const;
export type ExplanationCode = keyof typeof EXPLANATIONS;
const CODES = Object.keys(EXPLANATIONS) as ExplanationCode[];

const explanation = s.fields({
  code: s.choice(...CODES),
  usd: usd.about('How much of the drift it explains.'),
  text: s.text(),
});
export type Explanation = s.Infer<typeof explanation>;

export const ROW_STATES = ['matched', 'drift', 'ours_only', 'theirs_only'] as const;
const percent = s.orNull(s.number()).about('Of what the provider bills. Null: it bills nothing.');

const row = s.fields({
  day: s.text(),
  model: s.text(),
  status: s.choice(...ROW_STATES),
  requests: s.whole(),
  ours_usd: usd.about('By the ledger.'),
  adjusted_usd: usd.about('What earlier reconciliations have added.'),
  theirs_usd: usd.about('By the provider.'),
  drift_usd: usd.about('Theirs, without ours and what was added.'),
  drift_percent: percent,
  unknown_bills: s.whole(),
  estimated_usd: usd.about('What calls without a bill may have cost.'),
  explanations: s.list(explanation),
  settled_usd: s.orNull(usd).about('The adjustment that was made now. Null: none.'),
});
export type ReconciledRow = s.Infer<typeof row>;

const summaryFields = {
  object: s.literal('reconciliation'),
  provider: s.text(),
  month: s.text(),
  format: s.choice('openai_csv', 'openai_json', 'anthropic_csv', 'anthropic_json'),
  made_at: moment,
  made_by: textOrNull,
  lines: s.whole().about('Lines of the file that are of the month.'),
  outside_month: s.whole().about('Other lines, which are not read.'),
  missing_days: s
    .list(s.text())
    .about('Days on which the gateway has spent, and of which the file has no line.'),
  doubled: s
    .list(s.fields({ day: s.text(), model: s.text(), usd, times: s.whole() }))
    .about('Lines that the file has more than once, the first hundred. Each counts once.'),
  total: s.fields({
    ours_usd: usd,
    adjusted_usd: usd,
    theirs_usd: usd,
    drift_usd: usd,
    drift_percent: percent,
    matched: s.whole(),
    drift: s.whole(),
    ours_only: s.whole(),
    theirs_only: s.whole(),
    settled: s.whole().about('Adjustments that were made now.'),
    settled_usd: usd,
  }),
};
export const reconciliationSummary = s.component('ReconciliationSummary', summaryFields);
export type ReconciliationSummary = s.Infer<typeof reconciliationSummary>;

export const reconciliation = s.component('Reconciliation', {
  ...summaryFields,
  data: s.list(row).about('By day and model.'),
});
export type Reconciliation = s.Infer<typeof reconciliation>;
export type ReconciliationList = List<ReconciliationSummary>;
