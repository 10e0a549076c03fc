/** Callers of every kind: plain ones, with an Idempotency-Key, in the background, with a fallback, and a batch. */
import OpenAI from 'openai';
import { batchEnd, createBatch, line, readResults, toJsonl } from '../helpers/batches.js';
import type { ChatAnswer, Gateway } from '../helpers/gateway.js';

export interface Tally {
  sent: number;
  served: number;
  replayed: number;
  rerouted: number;
  refused: number;
  wronglyRefused: number;
  failed: number;
  /** How often each error was the answer. */
  errors: Map<string, number>;
}

const BATCH_LINES = 40;
const LOOK_EVERY_MS = 500;

interface Load {
  callers: number;
  calls: number;
  say(text: string): void;
}

export async function createCallers(gateway: Gateway, { callers, calls, say }: Load): Promise<Tally> {
  const tally: Tally = {
    sent: 0,
    served: 0,
    replayed: 0,
    rerouted: 0,
    refused: 0,
    wronglyRefused: 0,
    failed: 0,
    errors: new Map(),
  };
  const fail = (code: string) => {
    tally.failed += 1;
    tally.errors.set(code, (tally.errors.get(code) ?? 0) + 1);
  };
  const key = gateway.keys.money ?? '';
  const count = ({ status, headers, body }: ChatAnswer) => {
    tally.sent += 1;
    if (status === 200) {
      tally.served += 1;
      if (headers.get('idempotent-replayed') === 'true') tally.replayed += 1;
      if (headers.has('x-gateway-budget-route')) tally.rerouted += 1;
    } else if (status === 429 && body.error.code === 'budget_exceeded') {
      tally.refused += 1;
      if (wouldFit(body.error.message)) {
        tally.wronglyRefused += 1;
        say(body.error.message);
      }
    } else fail(body?.error?.code ?? String(status));
  };
  const call = async (caller: number, turn: number): Promise<void> => {
    const url = gateway.urls[(caller + turn) % gateway.urls.length] ?? gateway.url;
    const content = caller % 10 === 0 ? 'Hello, fall back' : 'Hello';
    const body = { model: 'fast', user: `user-${caller % 40}`, messages: [{ role: 'user', content }] };
    const tags = { 'x-gateway-tags': `project=p${caller % 8}, run=r${caller % 100}` };
    const send = (more: Record<string, string> = {}) =>
      gateway.chat(body, { key, url, headers: { ...tags, ...more } }).then(count, () => {
        tally.sent += 1;
        fail('the killed api');
      });
    if (caller % 5 === 1) {
      const twice = { 'idempotency-key': `${caller}-${turn}` };
      await Promise.all([send(twice), send(twice)]);
    } else if (caller % 10 === 2) await inBackground(url, body, tags);
    else await send();
  };
  const inBackground = async (url: string, body: unknown, tags: Record<string, string>) => {
    const headers = { ...tags, prefer: 'respond-async' };
    const first = await gateway.chat(body, { key, url, headers }).catch(() => undefined);
    if (first?.status !== 202) {
      if (first) count(first);
      return;
    }
    for (;;) {
      const response = await fetch(`${gateway.url}/v1/requests/${first.body.id}`, {
        headers: { authorization: `Bearer ${key}` },
      }).catch(() => undefined);
      if (response && response.headers.get('x-gateway-final') === 'true')
        return count({ status: response.status, headers: response.headers, body: await response.json() });
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  };
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key });
  const lines = Array.from({ length: BATCH_LINES }, (_, i) => line(`line-${i}`, 'Hello'));
  // Before the others begin: while a thousand do, this process would send the file too slowly.
  const { id } = await createBatch(client, toJsonl(lines));
  const batch = async () => {
    const ended = await batchEnd(client, id);
    const results = await readResults(client, ended.output_file_id);
    tally.sent += BATCH_LINES;
    tally.served += results.filter(({ response }) => response?.status_code === 200).length;
  };
  const all = Array.from({ length: callers }, async (_, caller) => {
    for (let turn = 0; turn < calls; turn++) await call(caller, turn);
  });
  await Promise.all([batch(), ...all]);
  return tally;
}

/** Whether the request would have fitted into what was not spent: by the figures that the refusal itself names. */
function wouldFit(message: string): boolean {
  const [cost, , budget, spent] = [...message.matchAll(/(\d+\.\d{6}) USD/g)].map(([, usd]) => Number(usd));
  return (cost ?? 0) + (spent ?? 0) < (budget ?? 0) - 1e-6;
}
