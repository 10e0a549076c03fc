import type { SimulatedAnswer } from './delivery.js';
import { type Dialect, type Fields, isFields, Refusal } from './dialect.js';
import type { Action } from './faults.js';

/** The bytes of an answer: the normal one, a refusal, or what the script wants instead. */
export function wordAnswer(
  dialect: Dialect,
  requestId: string,
  action: Action | undefined,
  body: unknown,
  respond: () => Fields | string,
): SimulatedAnswer {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    [dialect.requestIdHeader]: requestId,
  };
  const normal = () => provided(dialect, action ?? {}, body, respond);
  const answer = (action && scripted(action)) ?? refused(dialect, requestId, normal);
  if (action !== undefined) Object.assign(headers, scriptedHeaders(action));
  if (answer.pieces) headers['content-type'] = 'text/event-stream; charset=utf-8';
  return { ...answer, headers };
}

type Bare = Omit<SimulatedAnswer, 'headers'>;

function scripted(action: Action): Bare | undefined {
  if (action.redirect !== undefined) return { status: 307, body: '' };
  if (action.empty200 === true) return { status: 200, body: '' };
  if (action.html200 === true) {
    return { status: 200, body: '<!doctype html><html><body><h1>Service notice</h1></body></html>' };
  }
  if (action.body === undefined) return undefined;
  const text = typeof action.body === 'string' ? action.body : JSON.stringify(action.body);
  return { status: action.status ?? 200, body: text };
}

function provided(dialect: Dialect, action: Action, body: unknown, respond: () => Fields | string): Bare {
  if (action.status !== undefined && action.status >= 300) throw dialect.statusRefusal(action.status);
  if (action.contextLength === true) throw dialect.contextLength(body);
  const isStreamed = isFields(body) && body.stream === true;
  if (isStreamed && action.refuseStream === true) throw unverified();
  const answer = respond();
  if (isStreamed && isFields(answer)) return inPieces(dialect, action, answer, body);
  return { status: action.status ?? 200, body: typeof answer === 'string' ? answer : JSON.stringify(answer) };
}

/** Every sixteenth event comes after a comment, such as servers send to keep a connection alive. */
function inPieces(dialect: Dialect, action: Action, answer: Fields, body: Fields): Bare {
  const { usage: _, ...rest } = answer;
  let pieces = dialect.pieces(action.noUsage === true ? rest : answer, body);
  if (action.errorAfter !== undefined)
    pieces = [
      ...pieces.slice(0, action.errorAfter),
      dialect.errorPiece(dialect.statusRefusal(500), 'req_sim'),
    ];
  pieces = pieces.flatMap((piece, i) => (i % 16 === 8 ? [': keep-alive\n\n', piece] : [piece]));
  return { status: action.status ?? 200, body: pieces.join(''), pieces };
}

function unverified(): Refusal {
  const message =
    'Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.';
  return new Refusal(400, message, 'invalid_request_error', 'stream', 'unsupported_value');
}

function refused(dialect: Dialect, requestId: string, make: () => Bare): Bare {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: error.status, body: JSON.stringify(dialect.errorBody(error, requestId)) };
  }
}

function scriptedHeaders(action: Action): Record<string, string> {
  const headers: Record<string, string> = {};
  if (action.redirect !== undefined) headers.location = action.redirect;
  if (action.html200 === true) headers['content-type'] = 'text/html; charset=utf-8';
  if (action.wrongContentType === true) headers['content-type'] = 'text/plain; charset=utf-8';
  return Object.assign(headers, action.headers);
}
