import { type Attack, type Share, Stage } from './stage.js';

/** How long the innocent workspace is measured alone. */
const ALONE_MS = 4_000;
const SHORT_ALONE_MS = 300;

export interface Outcome {
  attack: Attack;
  alone: Share | undefined;
  under: Share | undefined;
  failures: string[];
  notes: string[];
}

export async function runAttack(attack: Attack, isShort: boolean): Promise<Outcome> {
  const stage = await Stage.set(attack, isShort);
  let alone: Share | undefined;
  let under: Share | undefined;
  try {
    await stage.warmUp();
    const aloneMs = isShort ? SHORT_ALONE_MS : ALONE_MS;
    alone = await stage.measure(() => new Promise((resolve) => setTimeout(resolve, aloneMs)));
    under = await stage.measure(() => attack.run(stage));
    stage.check(`${under.errors} errors of the innocent workspace`, under.errors === 0);
  } catch (error) {
    stage.failures.push(String(error instanceof Error ? (error.stack ?? error.message) : error));
  }
  await stage.close().catch((error) => stage.failures.push(`the gateway did not stop well: ${error}`));
  return { attack, alone, under, failures: stage.failures, notes: stage.notes };
}
