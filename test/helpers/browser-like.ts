/** A browser without a page: it keeps cookies, and sends what a browser sends by itself. */
import { checkAnswer } from './conformance.js';

export interface Visit {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they check
  body: any;
}

export class BrowserLike {
  readonly cookies = new Map<string, string>();

  constructor(private readonly url: string) {}

  /** As the console's own page asks, unless the headers say otherwise. Undefined leaves a header out. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Visit> {
    const all = {
      'x-sluice-console': '1',
      'sec-fetch-site': 'same-origin',
      cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') || undefined,
      'content-type': body === undefined ? undefined : 'application/json',
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const response = await fetch(this.url + path, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const visit = {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
    if (isJson && !path.startsWith('/queues/api')) checkAnswer(method, path, visit);
    return visit;
  }
}
