import type { LimitsInUse } from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { count, moment, percent, price, usd } from '../../format.js';
import { Bar, Notice, type Tone } from '../../ui/small.js';

/** What the workspace may use, and how much of it is used now. */
export function LimitsSection({ limits }: { limits: LimitsInUse }) {
  const { used, budget_usd_per_month: budget } = limits;
  const spent = Number(used.spent_usd) + Number(used.estimated_usd);
  const words = [
    ['Calls at a time', limits.concurrent_requests, `${count(used.in_flight)} now`],
    ['Requests a minute', limits.requests_per_minute, ''],
    ['Tokens a minute', limits.tokens_per_minute, ''],
    ['Weight', limits.weight, ''],
  ] as const;
  return (
    <>
      {used.refusing_since !== null && (
        <Notice tone="bad">
          The budget of {used.month} is spent: requests are refused since {moment(used.refusing_since)}. A
          larger budget lets them through at once.
        </Notice>
      )}
      <dl class="facts">
        <Fact name="Budget a month">{budget === null ? 'none' : price(budget)}</Fact>
        {budget !== null && (
          <>
            <Fact name="Spent">
              {usd(spent)} <span class="muted">{percent(spent, budget)}</span>
            </Fact>
            <Fact name="Reserved by calls under way">{usd(used.reserved_usd)}</Fact>
            <Fact name="Left">{usd(used.left_usd ?? 0)}</Fact>
          </>
        )}
        {limits.time_zone !== null && <Fact name="Time zone of budgets">{limits.time_zone}</Fact>}
        {words.map(([name, limit, note]) => (
          <Fact key={name} name={name}>
            {limit === null ? <span class="muted">no limit</span> : count(limit)}
            {note !== '' && <span class="muted">, {note}</span>}
          </Fact>
        ))}
      </dl>
      {budget !== null && <Bar value={spent} max={budget} tone={toneOf(spent, budget)} />}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function toneOf(used: number, budget: number): Tone {
  return used >= budget ? 'bad' : used > 0.8 * budget ? 'warn' : 'good';
}
