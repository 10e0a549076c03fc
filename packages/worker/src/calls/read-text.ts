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
  // Unlike a buffer's `toString`, this leaves out a byte order mark, with which the text is not JSON.
  return new TextDecoder().decode(Buffer.concat(chunks));
}
