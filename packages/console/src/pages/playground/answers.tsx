import type { AdminError } from '../../admin-client.js';
import { count, duration, usd } from '../../format.js';
import { formatPlace } from '../../location.js';
import { Badge, Empty, explainFailure, Notice } from '../../ui/small.js';
import type { ModelAnswer, Round } from './round.js';

interface AnswersProps {
  rounds: Round[];
  busy: boolean;
  error: AdminError | undefined;
  onClear(): void;
}

export function Answers({ rounds, busy, error, onClear }: AnswersProps) {
  return (
    <>
      {rounds.length === 0 && !busy && !error && (
        <Empty title="Nothing asked yet.">The answer, its headers and its cost will appear here.</Empty>
      )}
      {rounds.map((round, i) => (
        // They only ever grow at the end.
        <OneRound key={`${i}`} round={round} isLast={i === rounds.length - 1} />
      ))}
      {busy && <p class="muted">Waiting for the answer …</p>}
      {error && <Failure error={error} />}
      {rounds.length > 0 && !busy && (
        <div>
          <button type="button" onClick={onClear}>
            New chat
          </button>
        </div>
      )}
    </>
  );
}

/** One question, and beside each other the answers of the one or two that were asked. */
function OneRound({ round: { question, answers }, isLast }: { round: Round; isLast: boolean }) {
  return (
    <>
      <p class="question">{question}</p>
      <div class={answers.length > 1 ? 'two' : 'stack'}>
        {answers.map((answer) => (
          <article class="card answer" key={answer.model} aria-label={`Answer of ${answer.model}`}>
            {answers.length > 1 && <h3>{answer.model}</h3>}
            {'error' in answer ? <Failure error={answer.error} /> : <One answer={answer} isLast={isLast} />}
          </article>
        ))}
      </div>
    </>
  );
}

function Failure({ error }: { error: AdminError }) {
  return (
    <Notice tone="bad">
      <b>{error.code === 'unreachable' ? 'No answer' : `${error.status} ${error.code}`}</b>{' '}
      {explainFailure(error)}
    </Notice>
  );
}

function One({ answer: { text, completion, headers }, isLast }: { answer: ModelAnswer; isLast: boolean }) {
  const header = (name: string) => headers.find(([each]) => each === name)?.[1] ?? '';
  const { prompt_tokens, completion_tokens } = completion.usage;
  return (
    <>
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
    </>
  );
}
