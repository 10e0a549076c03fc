/** Structured outputs: Anthropic compiles the schemas of a request to one grammar, which has room for so much. */
import type { JsonObject } from '../json.js';
import { type FittedSchema, fitSchema } from './fit-schema.js';

/** Models from before structured outputs. */
const WITHOUT_GRAMMAR = /^claude-(?:instant|\d|(?:opus|sonnet)-4(?:-0)?(?:-\d{8}|$))/;

export class Grammar {
  #strictTools = 20;
  #optional = 24;
  #unions = 16;
  readonly #isThere: boolean;

  constructor(model: string) {
    this.#isThere = !WITHOUT_GRAMMAR.test(model);
  }

  /** The schema as the grammar takes it, or nothing when it cannot; then the model is told in words. */
  add(schema: JsonObject): JsonObject | undefined {
    const fitted = this.#isThere ? fitSchema(schema) : undefined;
    return fitted && this.#takes(fitted) ? fitted.schema : undefined;
  }

  /** The arguments of a tool are an object. */
  addTool(schema: JsonObject): JsonObject | undefined {
    const fitted = this.#strictTools > 0 ? this.add(schema) : undefined;
    if (fitted?.type !== 'object') return undefined;
    this.#strictTools--;
    return fitted;
  }

  #takes({ optional, unions }: FittedSchema): boolean {
    if (optional > this.#optional || unions > this.#unions) return false;
    this.#optional -= optional;
    this.#unions -= unions;
    return true;
  }
}
