import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@sluice/shared/errors';

const RETRY_AFTER_MS = 1_000;

export interface ByteLimits {
  /** The most bytes of one body. */
  maxBodyBytes: number;
  /** The most bytes of all requests that this process has accepted and not yet answered. */
  maxBytesInFlight: number;
  /** The most of these bytes for one workspace. */
  maxBytesInFlightPerWorkspace: number;
}

/** The memory that a request has taken. */
export class Share {
  bytes = 0;
  /** Whether the body is still arriving. It can be ended then. */
  arrives = true;
  #request: IncomingMessage | undefined;
  readonly #receivedBefore: number;

  constructor(
    readonly workspace: string,
    request: IncomingMessage,
  ) {
    this.#request = request;
    this.#receivedBefore = request.socket.bytesRead;
  }

  /** About how many bytes of the body are still to come. */
  get missing(): number {
    return this.bytes - ((this.#request?.socket.bytesRead ?? 0) - this.#receivedBefore);
  }

  /** Reading the body fails with the refusal. */
  refuse(error: unknown): void {
    this.arrives = false;
    // The reader may have given up already and let the rest pass. Then nobody listens.
    if (this.#request && this.#request.listenerCount('error') > 0) this.#request.emit('error', error);
  }

  /** A Set that changes much keeps what it had for long (under-way.ts). */
  forget(): void {
    this.#request = undefined;
  }
}

/**
 * A share of the process's memory is taken for a body before it is read. So a flood of large bodies is refused by its headers,
 * and one workspace cannot take the room of the others.
 *
 * An announced length does not keep others out. When there is no room for a workspace with fewer bytes in flight, the
 * workspace with the most gives up the body that has the most bytes left to receive.
 */
export class BytesInFlight {
  readonly #shares = new Set<Share>();
  readonly #byWorkspace = new Map<string, number>();
  #inFlight = 0;

  constructor(private readonly limits: ByteLimits) {}

  take(request: IncomingMessage, workspace: string, length: number | undefined): Share {
    const share = new Share(workspace, request);
    // A body that announces too much is refused when it is read.
    if (length !== undefined) this.#take(share, Math.min(length, this.limits.maxBodyBytes));
    else this.#takeAsItComes(share, request);
    this.#shares.add(share);
    return share;
  }

  giveBack(share: Share): void {
    if (!this.#shares.delete(share)) return;
    this.#add(share, -share.bytes);
    share.forget();
  }

  #takeAsItComes(share: Share, request: IncomingMessage): void {
    const onData = (chunk: Buffer) => {
      if (!share.arrives) return;
      try {
        this.#take(share, chunk.length);
      } catch (error) {
        share.refuse(error);
      }
    };
    request.on('data', onData);
    request.once('end', () => request.off('data', onData));
  }

  #take(share: Share, bytes: number): void {
    const { maxBytesInFlight, maxBytesInFlightPerWorkspace } = this.limits;
    const wanted = (this.#byWorkspace.get(share.workspace) ?? 0) + bytes;
    if (wanted > maxBytesInFlightPerWorkspace)
      throw new GatewayError(
        'rate_limited',
        `This workspace may have ${maxBytesInFlightPerWorkspace} bytes of requests in flight.`,
        { retryAfterMs: RETRY_AFTER_MS, reason: 'large_bodies' },
      );
    while (this.#inFlight + bytes > maxBytesInFlight)
      if (!this.#makeRoom(wanted)) throw tooMuch('The gateway has too many large requests in flight.');
    this.#add(share, bytes);
  }

  #add(share: Share, bytes: number): void {
    const left = (this.#byWorkspace.get(share.workspace) ?? 0) + bytes;
    if (left > 0) this.#byWorkspace.set(share.workspace, left);
    else this.#byWorkspace.delete(share.workspace);
    share.bytes += bytes;
    this.#inFlight += bytes;
  }

  /** Makes room for a workspace with this many bytes in flight by ending a body that is still arriving. */
  #makeRoom(wanted: number): boolean {
    const [largest, bytes] = [...this.#byWorkspace].reduce(
      (most, each) => (each[1] > most[1] ? each : most),
      ['', 0],
    );
    if (bytes <= wanted) return false;
    const coming = [...this.#shares].filter(({ workspace, arrives }) => workspace === largest && arrives);
    const [last] = coming.sort((a, b) => b.missing - a.missing);
    if (!last) return false;
    last.refuse(tooMuch('The request came too slowly, and others needed its room.'));
    this.giveBack(last);
    return true;
  }
}

function tooMuch(message: string): GatewayError {
  return new GatewayError('service_unavailable', message, { retryAfterMs: RETRY_AFTER_MS });
}
