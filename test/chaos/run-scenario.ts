import type { Account } from './account.js';
import { type Scenario, Trial } from './trial.js';

const LONGEST_MS = 180_000;

export interface Verdict {
  scenario: Scenario;
  account: Account | undefined;
  recoveryMs: number | undefined;
  failures: string[];
  notes: string[];
  skipped: string | undefined;
  seconds: number;
}

export async function runScenario(scenario: Scenario, patience = 1): Promise<Verdict> {
  const started = performance.now();
  const trial = new Trial(scenario.name, patience);
  let account: Account | undefined;
  try {
    await within(LONGEST_MS * patience, scenario.run(trial));
    if (trial.skipped === undefined) account = await trial.settleUp();
  } catch (error) {
    trial.failures.push(String(error instanceof Error ? (error.stack ?? error.message) : error));
  }
  try {
    await within(LONGEST_MS * patience, trial.close());
  } catch (error) {
    trial.failures.push(`the gateway did not stop well: ${error}`);
  }
  if (account) trial.failures.push(...judge(account, trial.extraCallsAllowed));
  return {
    scenario,
    account,
    recoveryMs: trial.recoveryMs,
    failures: trial.failures,
    notes: trial.notes,
    skipped: trial.skipped,
    seconds: (performance.now() - started) / 1000,
  };
}

function judge(account: Account, extraCallsAllowed: number): string[] {
  const failures: string[] = [];
  const [lost] = account.lost;
  if (lost)
    failures.push(
      `${account.lost.length} lost, the first: ${lost.status} ${lost.code} after ${Math.round(lost.ms)} ms`,
    );
  const [wrong] = account.wrong;
  if (wrong)
    failures.push(`${account.wrong.length} wrong answers, the first: ${wrong.content} to ${wrong.text}`);
  if (account.misbilled.length > 0) failures.push(`misbilled: ${account.misbilled.slice(0, 3).join('; ')}`);
  if (account.extraCalls > extraCallsAllowed)
    failures.push(`${account.extraCalls} extra provider calls, allowed ${extraCallsAllowed}`);
  return failures;
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return work;
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
  });
  return Promise.race([work, timeUp]).finally(() => clearTimeout(timer));
}
