/** One request of the log as a person reads it: how it ended and why, its steps with their times, and what it cost. */
import type { PresentedAttempt, PresentedRequest } from '@sluice/shared/admin-api';
import { outcomeRow } from '@sluice/shared/outcomes';
import { moment, whole } from './format.js';
import type { Style } from './style.js';
import { shown } from './table.js';

interface Step {
  /** Milliseconds since the request was accepted. */
  at: number | null;
  tookMs?: number | undefined;
  text: string;
  /** More about the step, on a line of its own. */
  note?: string | undefined;
}

export function requestText(request: PresentedRequest, style: Style): string {
  const { id, status, code, reason_text, count } = request;
  const isServed = status < 400;
  const head = `${id}  ${isServed ? style.good(String(status)) : style.bad(`${status} ${code}`)}`;
  const facts = factsOf(request).filter(([, value]) => value !== '');
  const width = Math.max(...facts.map(([name]) => name.length));
  return [
    head,
    ...(reason_text === null ? [] : [reason_text]),
    ...(count > 1
      ? [
          `This is the first of ${whole(count)} refusals of the same kind; the last was at ${moment(request.last_at)}.`,
        ]
      : []),
    '',
    ...facts.map(([name, value]) => `${style.faint(name.padEnd(width))}  ${shown(value)}`),
    '',
    ...stepLines(stepsOf(request), style),
  ].join('\n');
}

function factsOf(request: PresentedRequest): [name: string, value: string][] {
  const { usage, priced, cost_usd, billed, tags, attempts } = request;
  const allowed = attempts.at(-1)?.allowed_output;
  const beyond = allowed === undefined ? '' : `, of ${whole(allowed)} that the call may have written`;
  const tokens =
    usage &&
    `${whole(usage.input + usage.cached_input + usage.cache_write + usage.cache_write_1h)} in, ${whole(usage.output)} out${beyond}`;
  return [
    ['Workspace', request.workspace],
    ['Key', request.key_id],
    [request.route === null ? 'Model' : 'Route', request.route ?? request.model],
    [
      'Served by',
      usage
        ? `${request.provider}/${request.provider_model}${request.fallback_used ? ' (fallback)' : ''}`
        : '',
    ],
    ['Priority', request.priority === 'normal' ? '' : request.priority],
    ['End user', request.user ?? ''],
    [
      'Tags',
      Object.entries(tags)
        .map(([name, value]) => `${name}=${value}`)
        .join(', '),
    ],
    ['Tokens', tokens ?? ''],
    ['Cost', usage ? (priced ? `${cost_usd} USD` : 'unknown: the model has no price') : ''],
    [
      'Unknown bill',
      billed === 'unknown'
        ? `calls that ended without a bill may have cost ${request.estimated_usd} USD more`
        : '',
    ],
  ];
}

function stepsOf(request: PresentedRequest): Step[] {
  const { accepted_at, settled_at, queued, queue_ms, duration_ms, attempts } = request;
  const steps: Step[] = [{ at: 0, text: `accepted at ${moment(accepted_at)}` }];
  if (queued) steps.push({ at: 0, tookMs: queue_ms, text: 'waited in the queue' });
  for (const attempt of attempts) steps.push(attemptStep(attempt));
  const end = request.status < 400 ? 'answered' : request.code === 'cancelled' ? 'given up' : 'refused';
  steps.push({ at: duration_ms, text: `${end} at ${moment(settled_at)}` });
  return steps;
}

function attemptStep(attempt: PresentedAttempt): Step {
  const {
    provider,
    model,
    outcome,
    status,
    ms,
    first_token_ms,
    start_ms = null,
    message,
    why,
    adapted,
    upstream_id,
    via,
    api,
  } = attempt;
  const notes = [
    ...(message === undefined ? [] : [`“${message}”`]),
    ...(why === undefined ? [] : [why]),
    ...(adapted ?? []),
    ...(api === undefined ? [] : [`by its ${api} endpoint`]),
    ...(first_token_ms === undefined ? [] : [`it began after ${whole(first_token_ms)} ms`]),
    ...(via === undefined ? [] : ['a line of the provider’s own batch']),
    ...(upstream_id === undefined ? [] : [`the provider’s id: ${upstream_id}`]),
  ];
  return {
    at: start_ms,
    tookMs: ms,
    text: `${provider}/${model} ${outcomeRow(outcome).words}${status === undefined ? '' : ` (${status})`}`,
    note: notes.join(', ') || undefined,
  };
}

/** Times stand right, in milliseconds, so that they can be compared. */
function stepLines(steps: readonly Step[], style: Style): string[] {
  const ms = (value: number | null | undefined) =>
    value === null || value === undefined ? '' : `${whole(Math.round(value))} ms`;
  const rows = steps.map(({ at, tookMs, text, note }) => [ms(at), ms(tookMs), text, note] as const);
  const widthOf = (column: 0 | 1, title: string) =>
    Math.max(title.length, ...rows.map((row) => row[column].length));
  const [first, second] = [widthOf(0, 'AT'), widthOf(1, 'TOOK')];
  return [
    style.heading(`${'AT'.padStart(first)}  ${'TOOK'.padStart(second)}  STEP`),
    ...rows.flatMap(([at, took, text, note]) => [
      `${at.padStart(first)}  ${took.padStart(second)}  ${shown(text)}`,
      ...(note === undefined ? [] : [`${' '.repeat(first + second + 4)}${style.faint(shown(note))}`]),
    ]),
  ];
}
