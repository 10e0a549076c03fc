/**
 * How many tokens the requests of a route really take. A request that allows 4,096 tokens and gets 150 would otherwise hold up
 * others for what it never uses. Every api process learns from the answers to its own requests that concern a limit per minute.
 * What was guessed wrong is corrected when the call ends.
 */
import type { ChatJob } from '@sluice/shared/queue/job';
import type { TokenEstimate } from '@sluice/shared/registry/token-estimate';

/** Of so many of the latest requests. */
const KEPT = 64;
const LEAST_KNOWN = 4;
/** All but one request in so many take no more than is guessed. */
const ONE_IN = 20;
/** What is guessed is this much more than that. */
const MARGIN = 1.1;
/** A prompt is guessed by its bytes. Words of other scripts, and pictures, are up to so many times off. */
const MOST_OFF = 8;
/** When nobody says how long an answer may be, it is guessed to be at most so many times the usual length. */
const MOST_USUAL = 16;
/** The least recently learned is forgotten first. */
const MOST_ROUTES = 5_000;

interface Habit {
  /** Tokens of the prompt, divided by the first guess. */
  ratios: number[];
  /** Tokens of the answer, of each choice. */
  outputs: number[];
  next: number;
  ratio: number;
  output: number;
}

type Route = Pick<ChatJob, 'workspace' | 'route' | 'model'>;

export class TokenHabits {
  readonly #habits = new Map<string, Habit>();

  /** The estimate as far as the route's requests have been like it. */
  adjust(route: Route, first: TokenEstimate): TokenEstimate {
    const habit = this.#habits.get(nameOf(route));
    if (!habit || habit.outputs.length < LEAST_KNOWN) return first;
    const { input, output, choices = 1, isNamed } = first;
    const most = isNamed ? output : MOST_USUAL * output;
    return {
      ...first,
      input: Math.ceil(input * habit.ratio),
      ratio: habit.ratio,
      likely: Math.min(most, choices * habit.output),
    };
  }

  learn(job: Route & Pick<ChatJob, 'tokens'>, [input, output]: readonly [number, number]): void {
    if (!job.tokens || !(input >= 0) || !(output >= 0)) return;
    const name = nameOf(job);
    const habit = this.#habits.get(name) ?? { ratios: [], outputs: [], next: 0, ratio: 1, output: 0 };
    const first = Math.max(1, job.tokens.input / (job.tokens.ratio ?? 1));
    habit.ratios[habit.next] = Math.min(MOST_OFF, Math.max(1 / MOST_OFF, input / first));
    habit.outputs[habit.next] = output / (job.tokens.choices ?? 1);
    habit.next = (habit.next + 1) % KEPT;
    habit.ratio = MARGIN * highOf(habit.ratios);
    habit.output = Math.max(1, Math.ceil(MARGIN * highOf(habit.outputs)));
    this.#habits.delete(name);
    this.#habits.set(name, habit);
    if (this.#habits.size <= MOST_ROUTES) return;
    const [oldest = ''] = this.#habits.keys();
    this.#habits.delete(oldest);
  }
}

/** The value that all but one in so many do not exceed. Only those above it are kept, because to sort all of them costs more. */
function highOf(values: readonly number[]): number {
  const highest: number[] = Array(Math.floor(values.length / ONE_IN) + 1).fill(0);
  for (const value of values) {
    if (value <= (highest[0] ?? 0)) continue;
    let at = 0;
    for (let next = highest[1]; next !== undefined && next < value; next = highest[at + 1])
      highest[at++] = next;
    highest[at] = value;
  }
  return highest[0] ?? 0;
}

function nameOf({ workspace, route, model }: Route): string {
  return `${workspace} ${route ?? model}`;
}
