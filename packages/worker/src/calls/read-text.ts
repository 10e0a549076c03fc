import { UnusableResponse } from '../providers/types.js';

/** Reads an answer of a call that is not a request of a caller. Throws when it has more than `maxBytes`. */
export async function readText(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new UnusableResponse('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
