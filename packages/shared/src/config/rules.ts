/** Rules that hold in several places of gateway.yaml. */
import type { NumberRule, TextRule } from './reader.js';

export const ID: TextRule = {
  pattern: /^[a-z0-9][a-z0-9_-]{0,62}$/,
  allowed: '1 to 63 characters of a-z, 0-9, _ and -, the first a letter or digit',
};
export const MODEL: TextRule = {
  pattern: /^[!-~]{1,256}$/,
  allowed: 'a model id of 1 to 256 characters without spaces',
};

export const DURATION_MS: NumberRule = { min: 1, max: 3_600_000 };
export const COUNT: NumberRule = { min: 1, max: 1_000_000 };
export const WEIGHT: NumberRule = { min: 1, max: 1_000 };
/** Per minute. */
export const TOKENS: NumberRule = { min: 1, max: 1_000_000_000 };
