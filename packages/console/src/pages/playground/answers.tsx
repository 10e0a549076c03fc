import type { AdminError } from '../../admin-client.js';
import { count, duration, usd } from '../../format.js';
import { formatPlace } from '../../location.js';
import { Badge, Empty, explainFailure, Notice } from '../../ui/small.js';
import type { Completion } from './completion.js';

export interface Answer {
  question: string;
  text: string;
  completion: Completion;
  headers: [name: string, value: string][];
}

interface AnswersProps {
  answers: Answer[];
  busy: boolean;
  error: AdminError | undefined;
  onClear(): void;
}

export function Answers({ answers, busy, error, onClear }: AnswersProps) {
  return (
    <>
      {answers.length === 0 && !busy && !error && (
        <Empty title="Nothing asked yet.">The answer, its headers and its cost will stand here.</Empty>
      )}
      {answers.map((answer, i) => (
        // They only ever grow at the end.
        <One key={`${i}`} answer={answer} isLast={i === answers.length - 1} />
      ))}
      {busy && <p class="muted">Waiting for the answer …</p>}
      {error && (
        <Notice tone="bad">
          <b>{error.code === 'unreachable' ? 'No answer' : `${error.status} ${error.code}`}</b>{' '}
          {explainFailure(error)}
        </Notice>
      )}
      {answers.length > 0 && !busy && (
        <div>
          <button type="button" onClick={onClear}>
            New chat
          </button>
        </div>
      )}
    </>
  );
}

function One({
  answer: { question, text, completion, headers },
  isLast,
}: {
  answer: Answer;
  isLast: boolean;
}) {
  const header = (name: string) => headers.find(([each]) => each === name)?.[1] ?? '';
  const { prompt_tokens, completion_tokens } = completion.usage;
  return (
    <article class="card answer">
      <p class="question">{question}</p>
      <p class="text">{text === '' ? <span class="muted">The answer has no text.</span> : text}</p>
      <p class="tags">
        <Badge tone="info">
          {header('x-gateway-provider')}/{header('x-gateway-model')}
        </Badge>
        {header('x-gateway-fallback-used') === 'true' && <Badge tone="warn">fallback</Badge>}
        <Badge>{duration(Number(header('x-gateway-latency-ms')))}</Badge>
        <Badge>
          {count(prompt_tokens)} in, {count(completion_tokens)} out
        </Badge>
        <Badge>{usd(header('x-gateway-cost-usd'))}</Badge>
        <Badge>{completion.choices[0]?.finish_reason}</Badge>
      </p>
      <details open={isLast}>
        <summary>Headers</summary>
        <dl class="headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {name === 'x-request-id' ? (
                  <a href={formatPlace({ page: 'requests', item: value })}>{value}</a>
                ) : (
                  value
                )}
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </article>
  );
}
