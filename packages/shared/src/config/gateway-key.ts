import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'gw_live_';
const RANDOM_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32

const ISSUED = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
/** An operator may bring a key value of their own through the configuration; this is the least it must be. */
const WELL_FORMED = /^[0-9A-Za-z_.-]{16,200}$/;

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

/** Keys are stored and looked up by this and by nothing shorter. */
export function digestKey(key: string): string {
  return hash('sha256', key);
}

/** What a list of keys may show. */
export function displayPrefix(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…`;
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
