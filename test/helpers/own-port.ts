/**
 * Ports for servers of this process and its children. Tests run in many processes at a time, and a port that is free may be
 * somebody else's a moment later. So each process owns a range of ports for as long as it lives: it listens on the first one,
 * and whoever finds that one taken looks for another range. The product offers lower ports (start/free-port.ts), and systems
 * give higher ones to outgoing connections.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isFree, LAST } from '@sluice/cli/start/free-port';

const FIRST = LAST + 100;
const RANGE = 50;
const RANGES = 195;
/** Some programs also take the next ports. */
const ROOM = 5;

let next = 0;
let end = 0;
let claiming: Promise<void> | undefined;

export async function ownPort(): Promise<number> {
  for (;;) {
    claiming ??= next >= end ? claimRange() : undefined;
    await claiming;
    const port = next;
    next += ROOM;
    // Something else on this machine may have been there before.
    if (port < end && (await isFree(port))) return port;
  }
}

async function claimRange(): Promise<void> {
  for (;;) {
    const first = FIRST + randomInt(RANGES) * RANGE;
    const claim = createServer();
    claim.listen(first, '127.0.0.1').unref();
    try {
      await once(claim, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    [next, end, claiming] = [first + ROOM, first + RANGE, undefined];
    return;
  }
}
