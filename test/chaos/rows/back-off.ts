import type { Scenario, Trial } from '../trial.js';

const RETRIES = 3;
/** The shortest wait before each retry: half of 200 ms, doubled every time. */
const SHORTEST_MS = [100, 200, 400];
const ASKED_MS = 1_000;

export const backOff: Scenario = {
  name: 'retries-back-off',
  fault: 'upstream fails three times: the retries wait longer each time, and as long as upstream asks',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: { solo: [{ provider: 'openai', model: 'gpt-4o-mini', retries: RETRIES }] },
      providers: { openai: { circuit_failures: 0 } },
      simulator: { latencyMs: 5 },
    });
    simulator.script(
      { match: { textIncludes: 'plain' }, times: RETRIES, action: { status: 500 } },
      {
        match: { textIncludes: 'asking' },
        times: RETRIES,
        action: { status: 503, headers: { 'retry-after': String(ASKED_MS / 1000) } },
      },
    );
    const [plain, asking] = await Promise.all(
      ['plain', 'asking'].map((kind) => trial.send(trial.text(kind))),
    );
    const gaps = { plain: gapsOf(trial, plain?.text ?? ''), asking: gapsOf(trial, asking?.text ?? '') };
    trial.note(
      `ms between calls: ${gaps.plain.join(', ')}; asked for ${ASKED_MS}: ${gaps.asking.join(', ')}`,
    );
    for (const [i, shortest] of SHORTEST_MS.entries()) {
      trial.check(`waited before retry ${i + 1}: ${gaps.plain[i]} ms`, (gaps.plain[i] ?? 0) >= shortest);
      trial.check(
        `as long as asked before retry ${i + 1}: ${gaps.asking[i]} ms`,
        (gaps.asking[i] ?? 0) >= ASKED_MS + shortest,
      );
    }
    trial.extraCallsAllowed = 2 * RETRIES;
  },
};

/** From each call of the text to the next. */
function gapsOf(trial: Trial, text: string): number[] {
  const calls = trial.gateway.simulator.calls.filter(({ textHash }) => textHash === trial.hashOf(text));
  return calls.slice(1).map(({ startedAt }, i) => startedAt - (calls[i]?.startedAt ?? startedAt));
}
