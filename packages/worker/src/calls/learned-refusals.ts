/**
 * The fields that a model has refused lately, so that the requests of others need not meet the same refusal. It is learned from
 * the status, the code and the field that the provider names, never from its words, which may quote a caller. One workspace
 * alone teaches nothing: it could lead the others away from a model. What is learned is forgotten after some minutes.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';

const KEPT_MS = 10 * 60_000;
const MOST_MODELS = 500;
const MOST_FIELDS = 32;
/** Every request has these, so that a lesson about them would be one about the model. */
const IN_EVERY_REQUEST = ['model', 'messages', 'input'];

/** A field that a provider has named in a refusal. `value`: only this value was refused. */
export interface NamedField {
  field: string;
  value?: unknown;
}

interface Lesson extends NamedField {
  workspace: string;
  /** Set when another workspace has met the refusal, too. */
  until?: number;
}

export class LearnedRefusals {
  readonly #byModel = new Map<string, Lesson[]>();

  constructor(private readonly now: () => number) {}

  /** True when others are led away from the model from now on. */
  met({ provider, model }: ChainEntry, { field, value }: NamedField, workspace: string): boolean {
    if (IN_EVERY_REQUEST.includes(field)) return false;
    const name = `${provider}/${model}`;
    if (!this.#byModel.has(name) && this.#byModel.size >= MOST_MODELS) this.#byModel.clear();
    const lessons = this.#byModel.get(name) ?? [];
    this.#byModel.set(name, lessons);
    const lesson = lessons.find((each) => each.field === field && each.value === value);
    if (!lesson) {
      // What only one workspace has met goes first, so that it cannot make the others forget.
      const leastKnown = lessons.findIndex(({ until = 0 }) => until <= this.now());
      if (lessons.length >= MOST_FIELDS) lessons.splice(Math.max(0, leastKnown), 1);
      lessons.push({ field, value, workspace });
    }
    if (!lesson || lesson.workspace === workspace) return false;
    const { until = 0 } = lesson;
    lesson.until = this.now() + KEPT_MS;
    return until <= this.now();
  }

  /** A field of the request that the model does not take, as far as is known. */
  fieldOf({ provider, model }: ChainEntry, request: ChatRequest): string | undefined {
    if (this.#byModel.size === 0) return undefined;
    const now = this.now();
    return this.#byModel.get(`${provider}/${model}`)?.find(({ field, value, until = 0 }) => {
      const sent = Object.hasOwn(request, field) ? request[field] : null;
      return until > now && sent !== null && (value === undefined || value === sent);
    })?.field;
  }
}
