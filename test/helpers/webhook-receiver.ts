import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyOf } from './body-of.js';

export interface ReceivedMessage {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Collects what webhooks send. By default every message is answered with 204. */
export class WebhookReceiver {
  readonly messages: ReceivedMessage[] = [];
  readonly #server: Server;
  /** What a path answers instead. */
  readonly answers = new Map<string, (res: ServerResponse) => void>();

  private constructor() {
    this.#server = createServer(async (req, res) => {
      const { url = '', headers } = req;
      const body = await bodyOf(req);
      if (body === undefined) return;
      this.messages.push({ path: url, headers, body });
      const answer = this.answers.get(url);
      if (answer) answer(res);
      else res.writeHead(204).end();
    });
    // A process that stops for a while must not find its connection closed: it would send the message again.
    this.#server.keepAliveTimeout = 120_000;
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  url(path: string, host = '127.0.0.1'): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  at(path: string): ReceivedMessage[] {
    return this.messages.filter((message) => message.path === path);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
