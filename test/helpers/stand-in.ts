/**
 * Stand-ins for the providers of the presets. Each is as strict as the real one about path, query, headers and the shape of
 * the body, and refuses in its words. What it lets in is checked and answered by the simulator.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSimulator } from '@sluice/simulator/simulator';
import { bodyOf } from './body-of.js';
import { verifySignature } from './verify-signature.js';

export const KEY = 'key-of-the-test';
export const AWS = { accessKeyId: 'AKIATEST', secretAccessKey: KEY, sessionToken: 'session' };

type Refused = [status: number, body: unknown];

export interface StandIn {
  kind: 'openai' | 'anthropic';
  /** The only path of chat calls; `{model}` is where the model stands, if it stands there. */
  path: string;
  query?: Record<string, string>;
  /** Headers that must be there, with these values. */
  headers: Record<string, string>;
  /** Headers that must not be there. */
  without?: string[];
  /** Must stand in the body, which then has no model. */
  version?: string;
  /** The call must be signed for this service instead of having `headers`. */
  signedFor?: string;
  wrongPath: Refused;
  wrongKey: Refused;
  unknownModel(model: string): Refused;
}

export interface RunningStandIn {
  origin: string;
  /** Headers of the calls that came, newest last. */
  calls: { url: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[];
  close(): Promise<void>;
}

/** `model` is the only one that it knows. */
export async function startStandIn(
  standIn: StandIn,
  model: string,
  acceptsKey: () => string = () => KEY,
): Promise<RunningStandIn> {
  const simulator = await createSimulator({ models: { openai: [model], anthropic: [model] } });
  const calls: RunningStandIn['calls'] = [];
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown) =>
      typeof body === 'string'
        ? response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
        : response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const text = await bodyOf(request);
    if (text === undefined) return;
    const url = new URL(request.url ?? '', 'http://stand-in');
    const asked = modelIn(standIn.path, url.pathname);
    if (asked === undefined || request.method !== 'POST' || !hasQuery(url, standIn.query ?? {}))
      return answer(...standIn.wrongPath);
    if (!isLetIn(standIn, request, text, acceptsKey())) return answer(...standIn.wrongKey);
    const body = JSON.parse(text) as Record<string, unknown>;
    calls.push({ url: request.url ?? '', headers: request.headers, body });
    if (standIn.version !== undefined) {
      if (body.anthropic_version !== standIn.version || 'model' in body)
        return answer(400, { message: 'extraneous key [model] is not permitted' });
      delete body.anthropic_version;
    }
    const name = standIn.path.includes('{model}') ? asked : String(body.model);
    if (name !== model) return answer(...standIn.unknownModel(name));
    const isAnthropic = standIn.kind === 'anthropic';
    const inner = await fetch(
      isAnthropic
        ? `${simulator.anthropicBaseUrl}/v1/messages`
        : `${simulator.openaiBaseUrl}/chat/completions`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(isAnthropic
            ? { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }
            : { authorization: 'Bearer k' }),
        },
        body: JSON.stringify({ ...body, model: name }),
      },
    );
    return answer(inner.status, await inner.json());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await simulator.close();
    },
  };
}

/** Undefined: another path. */
function modelIn(path: string, pathname: string): string | undefined {
  const [before = '', after] = path.split('{model}');
  if (after === undefined) return path === pathname ? '' : undefined;
  if (!pathname.startsWith(before) || !pathname.endsWith(after)) return undefined;
  return decodeURIComponent(pathname.slice(before.length, pathname.length - after.length));
}

function hasQuery(url: URL, wanted: Record<string, string>): boolean {
  return url.searchParams.toString() === new URLSearchParams(wanted).toString();
}

function isLetIn(standIn: StandIn, request: IncomingMessage, body: string, key: string): boolean {
  const { headers } = request;
  if (headers['content-type'] !== 'application/json') return false;
  if ((standIn.without ?? []).some((name) => headers[name] !== undefined)) return false;
  if (standIn.signedFor !== undefined)
    return verifySignature(request, body, { ...AWS, region: 'eu-west-1', service: standIn.signedFor });
  return Object.entries(standIn.headers).every(
    ([name, value]) => headers[name] === value.replace('{key}', key),
  );
}
