/** What the encryption of prompts and answers adds to a request: each is encrypted once and decrypted once. */
import { randomBytes } from 'node:crypto';
import { Payloads } from '@sluice/shared/queue/payload';
import type { Case } from './cost.js';

const SIZES = { '1 KB': 1_024, '100 KB': 102_400 } as const;
const CONTEXT = 'request\nbench\nV1StGXR8_Z5jdHi6B-my';

export function payloadCases(): Case[] {
  const payloads = new Payloads({ keys: [randomBytes(32)], writes: true });
  return Object.entries(SIZES).flatMap(([size, length]) => {
    const text = JSON.stringify({ content: 'a prompt of some length. '.repeat(length / 25) });
    const sealed = payloads.seal(text, CONTEXT);
    return [
      { name: `encrypt, ${size}`, run: () => payloads.seal(text, CONTEXT) },
      { name: `decrypt, ${size}`, run: () => payloads.open(sealed, CONTEXT) },
    ];
  });
}
