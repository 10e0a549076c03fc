import { Transform } from 'node:stream';

const EVERY_MS = 100;

/** Passes everything on, and says now and then how much it was. */
export function countBytes(say: (bytes: number) => void): Transform {
  let bytes = 0;
  let saidAt = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (performance.now() - saidAt > EVERY_MS) {
        saidAt = performance.now();
        say(bytes);
      }
      done(null, chunk);
    },
  });
}
