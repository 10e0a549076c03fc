import { EventEmitter } from 'node:events';

/** Told whenever something happened within this process that a test may wait for. */
const stirs = new EventEmitter();
stirs.setMaxListeners(0);

/** What happens outside this process is looked for this often, and less and less often the longer it takes. */
const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 100;
const SLOWER = 1.3;
const TELL_EVERY_MS = 60_000;

/** Something happened: a call came, a line was printed, a caller was answered. Whoever waits looks again. */
export function stir(): void {
  stirs.emit('stir');
}

/**
 * Looks again and again until there is something to see: at every stir, and from time to time. A test gives no `giveUpMs`,
 * because nobody knows how busy a machine is. The suite's own limit ends a test that waits for ever, and by then this has told
 * for what it waits.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  giveUpMs = Number.POSITIVE_INFINITY,
): Promise<T> {
  const begun = performance.now();
  const telling = setInterval(() => process.stderr.write(`still waiting for: ${what}\n`), TELL_EVERY_MS);
  try {
    for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(LAST_LOOK_MS, SLOWER * pauseMs)) {
      const stirred = nextStir(pauseMs);
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
      if (performance.now() - begun > giveUpMs) throw new Error(`not seen within ${giveUpMs} ms: ${what}`);
      await stirred;
    }
  } finally {
    clearInterval(telling);
  }
}

/** Listens from now on, so that what happens during a look is not missed. */
function nextStir(mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stirs.off('stir', end);
      // After the code that follows what happened.
      setImmediate(resolve);
    };
    const timer = setTimeout(end, mostMs);
    stirs.on('stir', end);
  });
}
