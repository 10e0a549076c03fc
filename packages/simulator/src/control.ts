import type { CallLog } from './call-log.js';
import { parseRules, type Script } from './faults.js';

export const CONTROL_PREFIX = '/_control/';

export interface Controlled {
  script: Script;
  chatLog: CallLog;
  otherLog: CallLog;
  reset(): void;
}

/** The script and the call log over HTTP, for runs where the simulator is a process of its own. */
export function answerControl(
  parts: Controlled,
  method: string,
  url: string,
  raw: string,
): [number, unknown] {
  const [path = '', query] = url.slice(CONTROL_PREFIX.length).split('?', 2);
  switch (`${method} ${path}`) {
    case 'POST script':
      try {
        parts.script.add(parseRules(JSON.parse(raw)));
      } catch (error) {
        return [400, { error: error instanceof Error ? error.message : String(error) }];
      }
      return [200, { ok: true }];
    case 'DELETE script':
      parts.script.clear();
      return [200, { ok: true }];
    case 'GET calls':
      return [200, { calls: selectCalls(parts, new URLSearchParams(query)) }];
    case 'GET stats':
      return [200, parts.chatLog.stats()];
    case 'POST reset':
      parts.reset();
      return [200, { ok: true }];
    default:
      return [404, { error: `no such control: ${method} ${path}` }];
  }
}

/** `after=<n>` for what is new, `bodies=0` without bodies and headers, `other` for what is no chat call. */
function selectCalls(parts: Controlled, query: URLSearchParams) {
  const after = Number(query.get('after') ?? 0);
  const log = query.has('other') ? parts.otherLog : parts.chatLog;
  const calls = log.calls.filter((call) => call.n > after);
  if (query.get('bodies') !== '0') return calls;
  return calls.map(({ body: _body, headers: _headers, ...brief }) => brief);
}
