import type { PresentedAttempt, PresentedRequest } from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { duration } from '../../format.js';
import { outcomeText, outcomeTone, statusTone } from '../../outcomes.js';
import { Badge, Bar, type Tone } from '../../ui/small.js';
import { tookMs } from './request-columns.js';

/** Accepted → queued → attempts → settled, each with the share of the time that it took. */
export function TimeLine({ request }: { request: PresentedRequest }) {
  const { attempts, queue_ms, status, code } = request;
  const total = Math.max(tookMs(request), 1);
  const called = attempts.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
  const own = Math.max(0, total - called - queue_ms);
  return (
    <section aria-labelledby="way">
      <h3 id="way">
        Time line <span class="muted">{duration(tookMs(request))} in all</span>
      </h3>
      <ol class="time-line">
        <Step tone="info" title="Accepted" />
        <Step
          tone="info"
          title="Queued"
          note="waiting for a turn, over all entries"
          ms={queue_ms}
          total={total}
        />
        {attempts.map((attempt, i) => (
          // Attempts never change their order.
          <AttemptStep key={`${i} ${attempt.provider}`} attempt={attempt} number={i + 1} total={total} />
        ))}
        <Step
          tone={statusTone(status)}
          title="Settled"
          note={`the gateway’s own time`}
          ms={own}
          total={total}
        >
          <Badge tone={statusTone(status)}>{code === null ? status : `${status} ${code}`}</Badge>
        </Step>
      </ol>
    </section>
  );
}

function AttemptStep({
  attempt,
  number,
  total,
}: {
  attempt: PresentedAttempt;
  number: number;
  total: number;
}) {
  const { provider, model, outcome, status, ms, upstream_id } = attempt;
  return (
    <Step
      tone={outcomeTone(outcome)}
      title={`Attempt ${number}: ${provider}/${model}`}
      note={
        <>
          {outcomeText(outcome)}
          {status === undefined ? '' : ` (${status})`}
          {upstream_id && (
            <>
              ; upstream’s id <code>{upstream_id}</code>
            </>
          )}
        </>
      }
      ms={ms}
      total={total}
    />
  );
}

interface StepProps {
  tone: Tone;
  title: string;
  note?: ComponentChildren;
  ms?: number | undefined;
  total?: number;
  children?: ComponentChildren;
}

function Step({ tone, title, note, ms, total = 1, children }: StepProps) {
  return (
    <li class={tone}>
      <p class="step">
        <b>{title}</b> {children}
        {ms !== undefined && <span class="number">{duration(ms)}</span>}
      </p>
      {note && <p class="hint">{note}</p>}
      {ms !== undefined && <Bar value={ms} max={total} tone={tone} />}
    </li>
  );
}
