/** A TCP proxy whose every connection can be made bad while it is in use. It stands before Redis or an upstream. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `hold`: nothing passes, nothing is closed, as if the cable had been pulled. `deaf`: what the server says is lost. `delay`:
 * every chunk comes that much later, in each direction. `throttle`: bytes per second, in each direction.
 */
export type Weather =
  | { kind: 'clear' }
  | { kind: 'hold' }
  | { kind: 'deaf' }
  | { kind: 'delay'; ms: number }
  | { kind: 'throttle'; bytesPerSecond: number };

export interface TcpProxy {
  host: string;
  port: number;
  /** Connections open now. */
  readonly connections: number;
  /** From now on, for the connections that are open too. What was held passes when it clears. */
  set(weather: Weather): void;
  /** Ends all open connections with a reset. */
  reset(): void;
  /** Sends the end of the stream to the clients, and goes on listening to them. */
  halfClose(): void;
  /** The connections open now go silent for good; new ones are not touched. */
  strand(): void;
  close(): Promise<void>;
}

const TICK_MS = 20;

interface Link {
  client: Socket;
  server: Socket;
  stranded: boolean;
}

export async function createTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const links = new Set<Link>();
  let weather: Weather = { kind: 'clear' };
  const wakers = new Set<() => void>();
  const cleared = () => new Promise<void>((resolve) => wakers.add(resolve));

  /** One direction. Chunks are taken one after the other, so their order is kept. */
  async function pass(link: Link, from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from) {
      let rest = chunk as Buffer;
      while (rest.length > 0) {
        while (weather.kind === 'hold' || link.stranded) await cleared();
        if (weather.kind === 'delay') await sleep(weather.ms);
        let size = rest.length;
        if (weather.kind === 'throttle') {
          size = Math.max(1, Math.floor((weather.bytesPerSecond * TICK_MS) / 1000));
          await sleep(TICK_MS);
        }
        if (weather.kind !== 'deaf' || from === link.client) to.write(rest.subarray(0, size));
        rest = rest.subarray(size);
      }
    }
    to.end();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
    const link: Link = { client, server: upstream, stranded: false };
    links.add(link);
    const end = () => {
      links.delete(link);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    pass(link, client, upstream).catch(end);
    pass(link, upstream, client).catch(end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    get connections() {
      return links.size;
    },
    set(next) {
      weather = next;
      for (const wake of wakers) wake();
      wakers.clear();
    },
    reset() {
      for (const { client, server } of links) {
        client.resetAndDestroy();
        server.destroy();
      }
    },
    halfClose() {
      for (const { client } of links) client.end();
    },
    strand() {
      for (const link of links) link.stranded = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const { client, server } of links) {
          client.destroy();
          server.destroy();
        }
      }),
  };
}

/** A proxy before the server of this URL, and the URL that leads through it. */
export async function proxyFor(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const via = new URL(url);
  const proxy = await createTcpProxy({ host: via.hostname, port: Number(via.port) });
  via.port = String(proxy.port);
  return { proxy, url: via.href.replace(/\/$/, '') };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
