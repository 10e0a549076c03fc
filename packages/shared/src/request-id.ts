/** The ids of requests. Random bytes are drawn in blocks: one system call serves hundreds of ids. No byte is used twice. */
import { randomBytes } from 'node:crypto';

const BLOCK = 4096;
const ID_BYTES = 15;
let block = Buffer.alloc(0);
let used = 0;

/** 120 random bits as 20 characters. The id has no colon, so it can be part of a BullMQ job id and of a Redis key. */
export function makeRequestId(): string {
  if (used + ID_BYTES > block.length) {
    block = randomBytes(BLOCK);
    used = 0;
  }
  const id = block.toString('base64url', used, used + ID_BYTES);
  used += ID_BYTES;
  return id;
}
