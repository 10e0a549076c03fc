import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'gw_live_';
const RANDOM_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32

const ISSUED = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
/** An operator may bring key values through the configuration. A value must have at least this form. */
const WELL_FORMED = /^[0-9A-Za-z_.-]{32,200}$/;
/** Random values of 32 digits have far more. Words and counts that are repeated up to that length have less. */
const LEAST_RANDOMNESS = 36;

/** A new key. By its checksum a typo, or a false hit of a secret scanner, is recognised without asking Redis. */
export function makeGatewayKey(): string {
  let random = '';
  for (let i = 0; i < RANDOM_LENGTH; i++) random += ALPHABET[randomInt(ALPHABET.length)];
  return PREFIX + random + checksum(PREFIX + random);
}

export function isWellFormedKey(key: string): boolean {
  if (!key.startsWith(PREFIX)) return WELL_FORMED.test(key);
  const split = key.length - CHECKSUM_LENGTH;
  return ISSUED.test(key) && checksum(key.slice(0, split)) === key.slice(split);
}

/** Why an operator may not use this value as a key. */
export function ownKeyMistake(value: string): string | undefined {
  if (!isWellFormedKey(value))
    return 'must be 32 to 200 letters, digits, _ . and -; one that starts with gw_live_ must be complete';
  if (randomness(value) < LEAST_RANDOMNESS)
    return 'is too easy to guess; use a random value, such as openssl rand -hex 32 prints';
  return undefined;
}

/** A list of keys may show no more than these characters. */
export function lastFour(key: string): string {
  return key.slice(-4);
}

/**
 * Estimates how many bits an attacker has to guess: the entropy of a character, times the pairs of characters that do not
 * repeat. The pairs of steps from one character to the next count too, so that an alphabet does not pass for a random
 * value. A sentence still passes, because no count of characters can recognise one.
 */
function randomness(value: string): number {
  const codes = [...Buffer.from(value)];
  const steps = codes.slice(1).map((code, i) => code - (codes[i] ?? 0));
  return entropyOf(codes) * Math.min(countPairs(codes), countPairs(steps));
}

function entropyOf(items: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / items.length);
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}

function countPairs(items: readonly number[]): number {
  return new Set(items.slice(1).map((item, i) => `${items[i]} ${item}`)).size;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    encoded = ALPHABET[rest % ALPHABET.length] + encoded;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return encoded;
}
