import type { PresentedAttempt, PresentedRequest } from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { duration } from '../../format.js';
import { outcomeText, outcomeTone, statusTone } from '../../outcomes.js';
import { Badge, type Tone } from '../../ui/small.js';
import { tookMs } from './request-columns.js';
import { type TimeRange, toTimeRanges } from './time-ranges.js';

/** Accepted → waits and attempts → settled. Each bar begins and ends where its step did. */
export function TimeLine({ request }: { request: PresentedRequest }) {
  const { attempts, queued, queue_ms, status, code, reason_text } = request;
  const took = tookMs(request);
  const total = Math.max(took, 1);
  const { ranges, waits } = toTimeRanges(request);
  const called = attempts.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
  const own = Math.max(0, took - called - queue_ms);
  return (
    <section aria-labelledby="way">
      <h3 id="way">
        Time line <span class="muted">{duration(took)} in all</span>
      </h3>
      <ol class="time-line">
        <Step tone="info" title="Accepted" />
        {queued && (
          <Step tone="info" title="Queued" note="waiting for a turn, over all entries" ms={queue_ms}>
            <Track tone="info" ranges={waits} total={total} />
          </Step>
        )}
        {attempts.map((attempt, i) => (
          // Attempts never change their order.
          <AttemptStep
            key={`${i} ${attempt.provider}`}
            attempt={attempt}
            number={i + 1}
            range={ranges[i]}
            total={total}
          />
        ))}
        <Step
          tone={statusTone(status)}
          title="Settled"
          badge={<Badge tone={statusTone(status)}>{code === null ? status : `${status} ${code}`}</Badge>}
          note={reason_text ?? 'the gateway’s own time'}
          ms={own}
        />
      </ol>
    </section>
  );
}

interface AttemptProps {
  attempt: PresentedAttempt;
  number: number;
  range: TimeRange | undefined;
  total: number;
}

function AttemptStep({ attempt, number, range, total }: AttemptProps) {
  const {
    provider,
    model,
    outcome,
    status,
    ms,
    first_token_ms,
    upstream_id,
    message,
    why,
    adapted,
    via,
    tier,
    api,
  } = attempt;
  const tone = outcomeTone(outcome);
  return (
    <Step
      tone={tone}
      title={`Attempt ${number}: ${provider}/${model}`}
      note={
        <>
          {outcomeText(outcome)}
          {status === undefined ? '' : ` (${status})`}
          {range && range.from > 0 && `; after ${duration(range.from)}`}
          {message && <>; it said “{message}”</>}
          {why && <>; {why}</>}
          {api && `; by its ${api} endpoint`}
          {tier && `; at the tier ${tier}`}
          {via && '; a line of the provider’s own batch'}
          {adapted && <>; {adapted.join(', ')}</>}
          {first_token_ms !== undefined && `; it began after ${duration(first_token_ms)}`}
          {upstream_id && (
            <>
              ; upstream’s id <code>{upstream_id}</code>
            </>
          )}
        </>
      }
      ms={ms}
    >
      {range && <Track tone={tone} ranges={[range]} total={total} />}
    </Step>
  );
}

/** Where on the request's whole time the ranges lie. The numbers stand beside it. */
function Track({ tone, ranges, total }: { tone: Tone; ranges: readonly TimeRange[]; total: number }) {
  const share = (ms: number) => (100 * Math.min(ms, total)) / total;
  return (
    <svg class={`track ${tone}`} aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">
      {ranges.map(({ from, to }) => (
        <rect key={from} x={share(from)} width={Math.max(0.6, share(to) - share(from))} height="6" />
      ))}
    </svg>
  );
}

interface StepProps {
  tone: Tone;
  title: string;
  badge?: ComponentChildren;
  note?: ComponentChildren;
  ms?: number | undefined;
  children?: ComponentChildren;
}

function Step({ tone, title, badge, note, ms, children }: StepProps) {
  return (
    <li class={tone}>
      <p class="step">
        <b>{title}</b> {badge}
        {ms !== undefined && <span class="number">{duration(ms)}</span>}
      </p>
      {note && <p class="hint">{note}</p>}
      {children}
    </li>
  );
}
