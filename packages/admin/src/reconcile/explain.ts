/** What explains a difference between the ledger and an invoice. */
import type { ExplanationCode } from '@sluice/shared/contract/reconciliation';
import type { TokenKind } from './invoice.js';
import { type Explained, type ListPrices, type Row, roundingOf } from './rows.js';

interface Facts {
  missingDays: ReadonlySet<string>;
  prices: ListPrices;
}

const KINDS: readonly TokenKind[] = ['input', 'cached', 'write', 'output'];
/** Two figures are the same when they differ by less than this share: what is counted is rounded, too. */
const SAME = 0.005;

export function explain(rows: readonly Row[], facts: Facts): void {
  const otherPrice = modelsOfOtherPrice(rows);
  for (const row of rows) {
    if (row.drift === 0n) continue;
    if (row.status === 'matched') row.explanations = [{ code: 'rounding', amount: row.drift }];
    else if (row.status === 'ours_only') row.explanations = [oursOnly(row, facts)];
    else if (row.status === 'theirs_only') row.explanations = [theirsOnly(row)];
  }
  for (const row of rows)
    if (row.status === 'drift') row.explanations = explainDrift(row, rows, facts, otherPrice);
}

function oursOnly(row: Row, { missingDays }: Facts): Explained {
  return { code: missingDays.has(row.day) ? 'missing_day' : 'not_billed', amount: row.drift };
}

function theirsOnly({ drift, theirs }: Row): Explained {
  return { code: theirs?.isModel ? 'beside_gateway' : 'other_charges', amount: drift };
}

/** Takes one explanation after the other off the difference, the surest first. */
function explainDrift(
  row: Row,
  rows: readonly Row[],
  { prices }: Facts,
  otherPrice: ReadonlySet<string>,
): Explained[] {
  const found: Explained[] = [];
  let rest = row.drift;
  const take = (code: ExplanationCode, whole: bigint, more?: string) => {
    // What an earlier invoice has settled is explained there.
    const amount = row.adjusted === 0n ? whole : capped(whole, rest);
    if (amount === 0n) return;
    found.push({ code, amount, ...(more === undefined ? {} : { more }) });
    rest -= amount;
  };
  const rounding = roundingOf(row);
  const isLeft = () => rest > rounding || rest < -rounding;

  const { ours, theirs } = row;
  if (!ours || !theirs) return found;
  if (ours.unknown > 0 && rest > 0n) take('unknown_bills', rest < ours.estimated ? rest : ours.estimated);
  if (!isLeft()) return found;
  const cached = cachedDifference(row);
  if (cached !== 0n) take('cached_tokens', cached);
  if (!isLeft()) return found;
  const counted = countedDifference(row);
  if (counted !== undefined) {
    if (counted > 0n) take('beside_gateway', counted);
    else take('fewer_tokens', counted);
    // The tokens agree, or are accounted for. What is left is their price.
    if (isLeft()) take(theirs.tiers.size > 0 ? 'tiers' : 'price', rest, pricesOf(row, prices));
    return found;
  }
  if (isOfOtherDay(row, rows)) take('midnight', rest);
  else if (otherPrice.has(row.model) || hasOtherPrice(row, prices))
    take(theirs.tiers.size > 0 ? 'tiers' : 'price', rest, pricesOf(row, prices));
  else if (theirs.tiers.size > 0) take('tiers', rest, [...theirs.tiers].join(', '));
  else if (rest > 0n) take('beside_gateway', rest);
  else take('fewer_tokens', rest);
  if (isLeft()) take('unexplained', rest);
  return found;
}

/** As much of the amount as the rest has, in its direction. */
function capped(amount: bigint, rest: bigint): bigint {
  if (amount < 0n !== rest < 0n) return 0n;
  const isLess = amount < 0n ? amount > rest : amount < rest;
  return isLess ? amount : rest;
}

/** What the tokens cost that only they count, or only we. Undefined: the file does not count tokens. */
function countedDifference({ ours, theirs }: Row): bigint | undefined {
  if (!ours || !theirs?.tokens) return undefined;
  let sum = 0n;
  for (const kind of KINDS) {
    const [count = 0, cost = 0n] = [theirs.tokens[kind], theirs.costs[kind]];
    const more = count - ours.tokens[kind];
    if (count > 0 && !isSame(count, ours.tokens[kind]))
      sum += (cost * BigInt(Math.round(more))) / BigInt(Math.round(count));
  }
  return sum;
}

/** The prompts are as long, but other parts of them came from the cache. */
function cachedDifference({ ours, theirs }: Row): bigint {
  const counts = theirs?.tokens;
  if (!ours || !theirs || !counts) return 0n;
  const [input = 0, cached = 0, write = 0] = [counts.input, counts.cached, counts.write];
  const prompt = ours.tokens.input + ours.tokens.cached + ours.tokens.write;
  const more = cached - ours.tokens.cached;
  if (more === 0 || !isSame(input + cached + write, prompt) || input === 0 || cached === 0) return 0n;
  const rate = (kind: 'input' | 'cached', count: number) => Number(theirs.costs[kind] ?? 0n) / count;
  return BigInt(Math.round(more * (rate('cached', cached) - rate('input', input))));
}

/** Models of which they bill the same multiple of our cost on several days. Traffic beside the gateway is not as regular. */
function modelsOfOtherPrice(rows: readonly Row[]): ReadonlySet<string> {
  const ratios = new Map<string, number[]>();
  for (const { model, status, ours, theirs } of rows) {
    if (!ours || !theirs || ours.cost === 0n || ours.unknown > 0) continue;
    const ratio = Number(theirs.cost) / Number(ours.cost);
    ratios.set(model, [...(ratios.get(model) ?? []), status === 'matched' ? 1 : ratio]);
  }
  const isRegular = ([first = 1, ...others]: number[]) =>
    others.length > 0 && !isSame(first, 1) && others.every((ratio) => isSame(ratio, first));
  return new Set([...ratios].filter(([, found]) => isRegular(found)).map(([model]) => model));
}

/** Of a single day: they bill the same multiple of the listed price for every kind of token, or the right price for some kinds. */
function hasOtherPrice({ ours, theirs, model }: Row, prices: ListPrices): boolean {
  const listed = prices(model);
  if (!ours || !theirs || !listed) return false;
  const ratios = KINDS.flatMap((kind) => {
    const own = ours.tokens[kind] * listed[kind];
    const cost = theirs.costs[kind];
    return own > 0 && cost !== undefined ? [Number(cost) / own] : [];
  });
  const [first = 1] = ratios;
  if (ratios.length < 2) return false;
  return ratios.every((ratio) => isSame(ratio, first)) || ratios.some((ratio) => isSame(ratio, 1));
}

/** The next or the last day has about as much too little as this one has too much. */
function isOfOtherDay(row: Row, rows: readonly Row[]): boolean {
  return rows.some(
    ({ model, day, drift, status }) =>
      model === row.model &&
      status === 'drift' &&
      Math.abs(Date.parse(day) - Date.parse(row.day)) === 86_400_000 &&
      drift < 0n !== row.drift < 0n &&
      isNear(Number(-drift), Number(row.drift)),
  );
}

/** Their prices beside ours, for the kinds that differ. USD per million tokens. */
function pricesOf({ ours, theirs, model }: Row, prices: ListPrices): string | undefined {
  const listed = prices(model);
  if (!ours || !theirs || !listed) return undefined;
  const words = KINDS.flatMap((kind) => {
    const count = theirs.tokens?.[kind] ?? ours.tokens[kind];
    const cost = theirs.costs[kind];
    if (cost === undefined || !(count > 0)) return [];
    const rate = Number(cost) / count;
    return isSame(rate, listed[kind]) ? [] : [`${kind} ${shown(rate)} instead of ${shown(listed[kind])}`];
  });
  return words.length === 0 ? undefined : `${words.join(', ')} USD per million tokens`;
}

const shown = (picodollarsPerToken: number) => String(Number((picodollarsPerToken / 1e6).toPrecision(6)));

function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= SAME * Math.max(Math.abs(a), Math.abs(b));
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= 0.1 * Math.max(Math.abs(a), Math.abs(b));
}
