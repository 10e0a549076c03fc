/**
 * What models have taught lately by refusing a call of the gateway's own making. One workspace teaches only itself, until
 * another has met the same refusal. A lesson is forgotten after some minutes.
 */
import type { ChainEntry } from '@sluice/shared/queue/job';

const KEPT_MS = 10 * 60_000;
const MOST_MODELS = 500;

interface Lesson<T> {
  what: T;
  workspace: string;
  isShared: boolean;
  until: number;
}

export class ModelLessons<T> {
  readonly #lessons = new Map<string, Lesson<T>>();

  constructor(private readonly now: () => number) {}

  learn(entry: ChainEntry, what: T, workspace: string): void {
    const name = nameOf(entry);
    const before = this.#lessons.get(name);
    if (!before && this.#lessons.size >= MOST_MODELS) this.#lessons.clear();
    const isShared = before !== undefined && (before.isShared || before.workspace !== workspace);
    this.#lessons.set(name, { what, workspace, isShared, until: this.now() + KEPT_MS });
  }

  of(entry: ChainEntry, workspace: string): T | undefined {
    if (this.#lessons.size === 0) return undefined;
    const lesson = this.#lessons.get(nameOf(entry));
    if (!lesson || lesson.until <= this.now()) return undefined;
    return lesson.isShared || lesson.workspace === workspace ? lesson.what : undefined;
  }
}

export function nameOf({ provider, model }: ChainEntry): string {
  return `${provider}/${model}`;
}
