/** Callers of every kind: plain ones, with an Idempotency-Key, in the background, with a fallback, and a batch. */
import type { Spender } from '@sluice/shared/queue/budgets';
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
  /** What was expected to fail, by its reason: an api was killed, and so were two workers under one request. */
  failed: Record<ExpectedFailure, number>;
  /** What nobody expected. Such a run has not held. */
  unexpected: string[];
  refusals: Refusal[];
}

/** A request that a budget did not cover, and what it might have cost in USD. */
export interface Refusal extends Pick<Spender, 'user' | 'tags'> {
  cost: number;
}

type ExpectedFailure = 'api killed' | 'two workers killed';

const BATCH_LINES = 40;
const LOOK_EVERY_MS = 500;
/** So many connect at a time. A process that has a thousand sockets to greet at once sends too slowly on a busy machine. */
const AT_ONCE = 50;

interface Load {
  callers: number;
  calls: number;
  urls: readonly string[];
  /** The address of the api that is or will be killed. */
  killedUrl: string;
  say(text: string): void;
}

interface Sent extends Pick<Spender, 'user' | 'tags'> {
  url: string;
}

export async function createCallers(gateway: Gateway, load: Load): Promise<Tally> {
  const { callers, calls, killedUrl, say } = load;
  const tally: Tally = {
    sent: 0,
    served: 0,
    replayed: 0,
    rerouted: 0,
    refused: 0,
    wronglyRefused: 0,
    failed: { 'api killed': 0, 'two workers killed': 0 },
    unexpected: [],
    refusals: [],
  };
  const key = gateway.keys.money ?? '';
  const lose = ({ url }: Sent, error: unknown) => {
    tally.sent += 1;
    if (url === killedUrl) tally.failed['api killed'] += 1;
    else tally.unexpected.push(`no answer: ${error}`);
  };
  const refuse = ({ user, tags }: Pick<Sent, 'user' | 'tags'>, message: string) => {
    const { cost, fits } = figuresOf(message);
    tally.refused += 1;
    tally.refusals.push({ user, tags, cost });
    if (!fits) return;
    tally.wronglyRefused += 1;
    say(message);
  };
  const count = (sent: Sent, { status, headers, body }: ChatAnswer) => {
    tally.sent += 1;
    if (status === 200) {
      tally.served += 1;
      if (headers.get('idempotent-replayed') === 'true') tally.replayed += 1;
      if (headers.has('x-gateway-budget-route')) tally.rerouted += 1;
    } else if (status === 429 && body.error.code === 'budget_exceeded') refuse(sent, body.error.message);
    else if (body?.error?.code === 'provider_outcome_unknown') tally.failed['two workers killed'] += 1;
    else tally.unexpected.push(`${status} ${body?.error?.code}: ${body?.error?.message}`);
  };
  const call = async (caller: number, turn: number): Promise<void> => {
    const url = load.urls[(caller + turn) % load.urls.length] ?? gateway.url;
    const content = caller % 10 === 0 ? 'Hello, fall back' : 'Hello';
    const user = `user-${caller % 40}`;
    const tags = { project: `p${caller % 8}`, run: `r${caller % 100}` };
    const body = { model: 'fast', user, messages: [{ role: 'user', content }] };
    const tagged = { 'x-gateway-tags': `project=${tags.project}, run=${tags.run}` };
    const sent = { url, user, tags };
    const send = (more: Record<string, string> = {}) =>
      gateway.chat(body, { key, url, headers: { ...tagged, ...more } }).then(
        (answer) => count(sent, answer),
        (error: unknown) => lose(sent, error),
      );
    if (caller % 5 === 1) {
      const twice = { 'idempotency-key': `${caller}-${turn}` };
      await Promise.all([send(twice), send(twice)]);
    } else if (caller % 10 === 2) await inBackground(sent, body, tagged);
    else await send();
  };
  const inBackground = async (sent: Sent, body: unknown, tagged: Record<string, string>) => {
    const headers = { ...tagged, prefer: 'respond-async' };
    const first = await gateway
      .chat(body, { key, url: sent.url, headers })
      .catch((error: unknown) => lose(sent, error));
    if (!first) return;
    if (first.status !== 202) return count(sent, first);
    for (;;) {
      const response = await fetch(`${gateway.url}/v1/requests/${first.body.id}`, {
        headers: { authorization: `Bearer ${key}` },
      }).catch(() => undefined);
      if (response && response.headers.get('x-gateway-final') === 'true')
        return count(sent, {
          status: response.status,
          headers: response.headers,
          body: await response.json(),
        });
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  };
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key });
  const lines = Array.from({ length: BATCH_LINES }, (_, i) => line(`line-${i}`, 'Hello'));
  // Before the others begin: while a thousand do, this process would send the file too slowly.
  const { id } = await createBatch(client, toJsonl(lines));
  const batch = async () => {
    const ended = await batchEnd(client, id);
    const files = [ended.output_file_id, ended.error_file_id];
    const results = (await Promise.all(files.map((file) => readResults(client, file)))).flat();
    tally.sent += BATCH_LINES;
    for (const { response, error } of results)
      if (response?.status_code === 200) tally.served += 1;
      else if (error?.code === 'budget_exceeded') refuse({}, error.message);
      else tally.unexpected.push(`a line: ${JSON.stringify(error ?? response)}`);
    if (results.length !== BATCH_LINES) tally.unexpected.push(`${results.length} of ${BATCH_LINES} lines`);
  };
  const callAll = async (caller: number) => {
    for (let turn = 0; turn < calls; turn++) await call(caller, turn);
  };
  const all = [batch()];
  for (let caller = 0; caller < callers; caller++) {
    all.push(callAll(caller));
    if (caller % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(all);
  return tally;
}

/** The figures that the refusal itself names: what the request might cost, and whether that fits beside what is spent. */
function figuresOf(message: string): { cost: number; fits: boolean } {
  const found = [...message.matchAll(/(\d+\.\d{6}) USD/g)].map(([, usd]) => Number(usd));
  const [cost = 0, , budget = 0, spent = 0] = found;
  return { cost, fits: found.length < 4 || cost + spent < budget - 1e-6 };
}
