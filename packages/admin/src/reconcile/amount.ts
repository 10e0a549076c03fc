/** Amounts of money as providers write them, exactly. */

const DECIMAL = /^(-?)(\d{0,40})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,5}))?$/;
/** 10⁻¹² USD. */
export const USD_DECIMALS = 12;
/** More in a line, or in a day and model, is a mistake. PostgreSQL's whole numbers have no room for ten million USD. */
export const MOST_USD = 9_000_000;
export const MOST_PICODOLLARS = BigInt(MOST_USD) * 10n ** 12n;

export interface Amount {
  picodollars: bigint;
  /** How many decimals were written. */
  decimals: number;
}

/** `0.06`, `-1.5`, `4.5E-7` or `0E-6176`. Undefined for anything else. `decimals` of the unit: 12 for USD, 10 for cents. */
export function parseAmount(text: string, unit = USD_DECIMALS): Amount | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (sign === undefined || whole + fraction === '') return undefined;
  const digits = BigInt(whole + fraction);
  const decimals = Math.max(0, fraction.length - Number(exponent));
  if (digits === 0n) return { picodollars: 0n, decimals };
  const shift = unit + Number(exponent) - fraction.length;
  if (shift > 40) return undefined;
  const size = shift >= 0 ? digits * 10n ** BigInt(shift) : divided(digits, -shift);
  return size > MOST_PICODOLLARS ? undefined : { picodollars: sign === '-' ? -size : size, decimals };
}

/** By a power of ten. Half rounds up. */
function divided(digits: bigint, places: number): bigint {
  if (places > 120) return 0n;
  const by = 10n ** BigInt(places);
  return (digits + by / 2n) / by;
}

/** How far a rounded amount may be from the true one: half of its last decimal, and at most half a cent. */
export function roundingOf({ decimals }: Amount, unit = USD_DECIMALS): bigint {
  const places = Math.min(Math.max(decimals, unit - 10), unit);
  return 10n ** BigInt(unit - places) / 2n;
}
