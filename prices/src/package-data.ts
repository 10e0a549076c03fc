/** The data of genai-prices as prices/snapshot.py wrote it, and how the package finds a model and its prices in it. */
import { readFileSync } from 'node:fs';

type Match = Partial<Record<'equals' | 'starts_with' | 'ends_with' | 'contains' | 'regex', string>> &
  Partial<Record<'and' | 'or', Match[]>>;

/** Prices by prompt length: each holds for prompts of more than `start` tokens. */
export interface TieredPrice {
  base: number;
  tiers: { start: number; price: number }[];
}
export type PackagePrice = Record<string, number | TieredPrice>;

/** `2026-08-17`, or `01:00:00+00:00` for the hours of every day. */
interface Constraint {
  start_date?: string;
  start_time?: string;
  end_time?: string;
}

interface PackageModel {
  id: string;
  match: Match;
  context_window?: number;
  prices: PackagePrice | { prices: PackagePrice; constraint?: Constraint }[];
}

const data = JSON.parse(readFileSync(new URL('../genai-prices.json', import.meta.url), 'utf8')) as {
  version: string;
  providers: Record<string, PackageModel[]>;
};

export const PACKAGE_VERSION = data.version;

export function modelsOf(list: string): readonly PackageModel[] {
  return data.providers[list] ?? [];
}

export function findModel(list: string, id: string): PackageModel | undefined {
  return modelsOf(list).find(({ match }) => isMatch(match, id.toLowerCase()));
}

/** The prices of that day, and those of its hours: the last that fits the moment is taken first. */
export function pricesOn(
  { prices }: PackageModel,
  day: string,
): { price: PackagePrice; hours: { from: string; to: string; price: PackagePrice }[] } {
  if (!Array.isArray(prices)) return { price: prices, hours: [] };
  const isOfDay = ({ constraint }: (typeof prices)[number]) =>
    constraint?.start_time === undefined && (constraint?.start_date ?? '') <= day;
  const last = prices.findLastIndex(isOfDay);
  const hours = prices.slice(last + 1).flatMap(({ constraint, prices: price }) => {
    const { start_time: from, end_time: to } = constraint ?? {};
    return from && to ? [{ from: minute(from), to: minute(to), price }] : [];
  });
  return { price: prices[Math.max(last, 0)]?.prices ?? {}, hours: hours.reverse() };
}

function minute(time: string): string {
  if (!time.endsWith('+00:00')) throw new Error(`${time} is not in UTC`);
  return time.slice(0, '01:00'.length);
}

function isMatch(match: Match, id: string): boolean {
  if (match.or) return match.or.some((each) => isMatch(each, id));
  if (match.and) return match.and.every((each) => isMatch(each, id));
  if (match.equals !== undefined) return id === match.equals.toLowerCase();
  if (match.starts_with !== undefined) return id.startsWith(match.starts_with.toLowerCase());
  if (match.ends_with !== undefined) return id.endsWith(match.ends_with.toLowerCase());
  if (match.contains !== undefined) return id.includes(match.contains.toLowerCase());
  return match.regex !== undefined && new RegExp(match.regex).test(id);
}

/** The ids that a pattern names in full; others stand for any number of them. */
export function namedIn({ equals, or }: Match): string[] {
  return equals === undefined ? (or ?? []).flatMap(namedIn) : [equals];
}
