/** Spend as files: a table of the rows, and FOCUS 1.2, the FinOps foundation's format for bills. */
import { type PresentedSpend, type SpendField, SUM_NAMES } from '@sluice/shared/contract/spend';
import { csvLine } from '../http/csv.js';

export function* spendCsv(by: readonly SpendField[], rows: readonly PresentedSpend[]): Generator<string> {
  yield csvLine([...by, ...SUM_NAMES]);
  for (const row of rows)
    yield csvLine([...by.map((field) => row[field] ?? null), ...SUM_NAMES.map((name) => row[name])]);
}

/** What a FOCUS file is made of. */
export const FOCUS_FIELDS = [
  'day',
  'workspace',
  'route',
  'provider',
  'model',
] as const satisfies SpendField[];

/** Who sends the bill of a provider, by its name in the configuration. */
export type CompanyOf = (provider: string) => string;
type FocusColumn = [
  name: string,
  value: (row: PresentedSpend & Tagged, companyOf: CompanyOf) => string | number | null,
];
/** The tags of callers as JSON. The ledger does not know them. */
interface Tagged {
  tags?: string | null;
}

/** Exactly, in USD: FOCUS has no smaller unit. */
function exactUsd(picodollars: string): string {
  const [, sign = '', amount = ''] = /^(-?)(\d+)$/.exec(picodollars) ?? [];
  const digits = amount.padStart(13, '0');
  return `${sign}${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

function tokens(row: PresentedSpend): number {
  return row.input_tokens + row.cached_input_tokens + row.cache_write_tokens + row.output_tokens;
}

const cost = (row: PresentedSpend) => exactUsd(row.cost_picodollars);
const dayAfter = (day: string) =>
  `${new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`;
const monthStart = (day: string, months: number) =>
  new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1 + months, 1))
    .toISOString()
    .replace('.000Z', 'Z');
const day = (row: PresentedSpend) => row.day ?? '';
const company: FocusColumn[1] = ({ provider }, companyOf) => companyOf(provider ?? '');

/** FOCUS wants a prefix for names that no caller has chosen. */
function tagsOf({ route, tags }: PresentedSpend & Tagged): string {
  const own = JSON.parse(tags ?? '{}') as Record<string, string>;
  return JSON.stringify(
    Object.fromEntries([...Object.entries(own), ...(route ? [['sluice:route', route]] : [])]),
  );
}

const FOCUS: readonly FocusColumn[] = [
  ['BilledCost', cost],
  ['EffectiveCost', cost],
  ['ListCost', cost],
  ['ContractedCost', cost],
  ['BillingCurrency', () => 'USD'],
  ['BillingAccountId', () => 'sluice'],
  ['BillingAccountName', () => 'Sluice'],
  ['BillingAccountType', () => 'Gateway'],
  ['BillingPeriodStart', (row) => monthStart(day(row), 0)],
  ['BillingPeriodEnd', (row) => monthStart(day(row), 1)],
  ['ChargePeriodStart', (row) => `${day(row)}T00:00:00Z`],
  ['ChargePeriodEnd', (row) => dayAfter(day(row))],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', () => null],
  ['ChargeDescription', (row) => `${row.requests} requests to ${row.provider}/${row.model}`],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ConsumedQuantity', tokens],
  ['ConsumedUnit', () => 'Tokens'],
  ['PricingQuantity', tokens],
  ['PricingUnit', () => 'Tokens'],
  ['InvoiceIssuerName', company],
  ['ProviderName', company],
  ['PublisherName', company],
  ['ServiceCategory', () => 'AI and Machine Learning'],
  ['ServiceSubcategory', () => 'Generative AI'],
  ['ServiceName', (row) => row.provider ?? null],
  ['ResourceId', (row) => row.model ?? null],
  ['ResourceName', (row) => row.model ?? null],
  ['ResourceType', () => 'Model'],
  ['RegionId', () => null],
  ['RegionName', () => null],
  ['SkuId', (row) => `${row.provider}/${row.model}`],
  ['SubAccountId', (row) => row.workspace ?? null],
  ['SubAccountName', (row) => row.workspace ?? null],
  ['SubAccountType', () => 'Workspace'],
  ['Tags', tagsOf],
];

const adjusted = (row: PresentedSpend) => exactUsd(row.adjusted_picodollars);
const nothing = () => null;

/** The columns in which the line of an adjustment differs from that of usage. */
const FOCUS_OF_ADJUSTMENT: Readonly<Record<string, FocusColumn[1]>> = {
  ...{ BilledCost: adjusted, EffectiveCost: adjusted, ListCost: adjusted, ContractedCost: adjusted },
  ChargeCategory: () => 'Adjustment',
  ChargeDescription: (row) => `Settled by the invoice of ${row.provider} for ${row.model}`,
  ChargeFrequency: () => 'One-Time',
  ...{ ConsumedQuantity: nothing, ConsumedUnit: nothing, PricingQuantity: nothing, PricingUnit: nothing },
  ...{ SubAccountId: nothing, SubAccountName: nothing, SubAccountType: nothing },
};

export function* focusCsv(
  rows: readonly PresentedSpend[],
  adjustments: readonly PresentedSpend[],
  companyOf: CompanyOf,
): Generator<string> {
  yield csvLine(FOCUS.map(([name]) => name));
  // A row without any request is one of unknown bills: nothing was billed.
  for (const row of rows)
    if (row.requests > 0) yield csvLine(FOCUS.map(([, value]) => value(row, companyOf)));
  for (const row of adjustments)
    yield csvLine(FOCUS.map(([name, value]) => (FOCUS_OF_ADJUSTMENT[name] ?? value)(row, companyOf)));
}
