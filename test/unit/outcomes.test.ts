import { type AttemptOutcome, OUTCOMES } from '@sluice/shared/outcomes';
import { describeAttempts } from '@sluice/shared/queue/attempts';
import { fromAttempt } from '@sluice/worker/jobs/failed-job';
import test from 'ava';

const attempt = (outcome: string) => ({
  provider: 'openai',
  model: 'gpt-4o',
  outcome: outcome as AttemptOutcome,
});

test('every outcome but an answer and a translation’s own refusal has what its caller is told', (t) => {
  for (const [outcome, row] of Object.entries(OUTCOMES)) {
    t.not(row.words, '', outcome);
    if (row.kind !== 'served' && row.kind !== 'unsupported') t.regex(row.message, /^The .+[.]$/, outcome);
  }
});

test('an outcome that only a newer version knows is told as a failure', (t) => {
  t.is(describeAttempts([attempt('from_next_year')]), 'openai/gpt-4o failed');
  t.like(fromAttempt(attempt('from_next_year'), undefined), { code: 'internal_error', fallback: true });
});
