/** Callers that send one request after the other to the balancer and count what they get. */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

export interface Account {
  /** By status, or by the error of the connection. */
  outcomes: Record<string, number>;
  slowestMs: number;
  /** The body of one of the answers that were no completion. */
  refusal: string;
}

export class Callers {
  readonly #agent: HttpAgent;
  readonly #request: typeof httpRequest;
  /** How many got a completion, over all. */
  answered = 0;
  /** The body of the last answer that was no completion. */
  #refusal = '';

  constructor(
    private readonly url: string,
    private readonly key: string,
    /** The certificate that has to have signed the server's, for TLS. */
    ca?: string,
  ) {
    this.#agent = ca ? new HttpsAgent({ keepAlive: true, ca }) : new HttpAgent({ keepAlive: true });
    this.#request = ca ? httpsRequest : httpRequest;
  }

  /** The status of the answer, or the error of the connection. */
  async send(body: string): Promise<string> {
    const outcome = await this.#send(body);
    if (outcome === '200') this.answered += 1;
    return outcome;
  }

  #send(body: string): Promise<string> {
    return new Promise((resolve) => {
      const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
      const sent = this.#request(
        `${this.url}/v1/chat/completions`,
        { method: 'POST', agent: this.#agent, headers },
        (response) => {
          // Only the gateway's own answers name their request.
          const isOurs = response.headers['x-request-id'] !== undefined;
          const status = `${response.statusCode}${isOurs ? '' : ' of the balancer'}`;
          text(response).then(
            (body) => {
              if (status !== '200') this.#refusal = body;
              resolve(status);
            },
            (error: Error) => resolve(error.message),
          );
        },
      );
      sent.on('error', (error) => resolve(error.message));
      sent.end(body);
    });
  }

  /** Until `during` is over. */
  async sendDuring(callers: number, body: string, during: () => Promise<unknown>): Promise<Account> {
    const account: Account = { outcomes: {}, slowestMs: 0, refusal: '' };
    let isOver = false;
    const calling = Array.from({ length: callers }, async () => {
      while (!isOver) await this.#account(account, body);
    });
    try {
      await during();
    } finally {
      isOver = true;
    }
    await Promise.all(calling);
    return account;
  }

  /** So many calls a second until `during` is over, whether or not those before are answered. */
  async sendEverySecond(calls: number, body: string, during: () => Promise<unknown>): Promise<Account> {
    const account: Account = { outcomes: {}, slowestMs: 0, refusal: '' };
    const calling: Promise<void>[] = [];
    const timer = setInterval(() => calling.push(this.#account(account, body)), 1_000 / calls);
    try {
      await during();
    } finally {
      clearInterval(timer);
    }
    await Promise.all(calling);
    return account;
  }

  async #account(account: Account, body: string): Promise<void> {
    const start = performance.now();
    const outcome = await this.send(body);
    account.slowestMs = Math.max(account.slowestMs, performance.now() - start);
    if (outcome !== '200') account.refusal = this.#refusal;
    account.outcomes[outcome] = (account.outcomes[outcome] ?? 0) + 1;
  }

  close(): void {
    this.#agent.destroy();
  }
}
