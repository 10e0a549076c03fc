import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'gw_live_';
const RANDOM_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32

const ISSUED = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
/** An operator may bring a key value of their own through the configuration; this is the least it must be. */
const WELL_FORMED = /^[0-9A-Za-z_.-]{32,200}$/;
/** Far below what a random value of 32 digits has, and above words and counts that are repeated up to that length. */
const LEAST_RANDOMNESS = 36;

/** A new key. Its checksum lets a typo or a secret scanner's false hit be told apart without asking Redis. */
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

/** All that a list of keys may show. */
export function lastFour(key: string): string {
  return key.slice(-4);
}

/**
 * Roughly the bits that one has to guess: the entropy of a character, times the pairs of characters that do not repeat. The
 * pairs of steps from one character to the next count too, so that an alphabet is not taken for a random value. A sentence
 * is: no count of characters can tell.
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
