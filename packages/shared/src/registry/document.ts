/** The format of a registry: of the shipped file, of an operator's file, and of the body of a refresh. */
import { type Failure, validate } from 'superstruct';
import {
  type ModelOverride,
  modelOverride,
  type Prices,
  type RegistryDocument,
  type RegistryModel,
  registryDocument,
} from '../contract/model.js';
import type { Shape } from '../contract/structs.js';

export type { ModelOverride, Prices as ModelPrices, RegistryDocument, RegistryModel };

const MAX_SHOWN_MISTAKES = 20;
/** A mistake quotes what was found, which may be very long. */
const MAX_MISTAKE_LENGTH = 300;

/** A registry that cannot be used, with everything that is wrong with it. */
export class InvalidRegistry extends Error {
  override readonly name = 'InvalidRegistry';

  /** Each is a path, a colon and what is wrong there. */
  readonly mistakes: readonly string[];

  constructor(all: readonly string[]) {
    const mistakes = all.map((mistake) =>
      mistake.length > MAX_MISTAKE_LENGTH ? `${mistake.slice(0, MAX_MISTAKE_LENGTH)}…` : mistake,
    );
    const shown = mistakes.slice(0, MAX_SHOWN_MISTAKES).map((mistake) => `\n  ${mistake}`);
    const more = mistakes.length > shown.length ? `\n  and ${mistakes.length - shown.length} more` : '';
    super(`the model registry is not valid:${shown.join('')}${more}`);
    this.mistakes = mistakes;
  }
}

export function parseRegistryDocument(json: unknown): RegistryDocument {
  return parse(json, registryDocument, duplicates(json));
}

/** An operator's own entry for one model: prices, and other facts that replace the document's. */
export function parseModelOverride(json: unknown): ModelOverride {
  return parse(json, modelOverride, []);
}

function parse<T>(json: unknown, shape: Shape<T>, moreMistakes: string[]): T {
  const mistakes = [...moreMistakes];
  let value: T | undefined;
  try {
    const [error, valid] = validate(json, shape);
    mistakes.unshift(...(error?.failures() ?? []).map(describe));
    value = valid as T;
  } catch {
    // superstruct prints what it was given, and `{"toString": 1}` cannot be printed.
    mistakes.push('registry: is not of the right shape');
  }
  if (mistakes.length > 0 || value === undefined) throw new InvalidRegistry(mistakes);
  return value;
}

function describe(failure: Failure): string {
  const path = failure.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return `${path.replace(/^\./, '') || 'registry'}: ${reason(failure)}`;
}

function reason({ type, value, refinement, message }: Failure): string {
  if (refinement === 'price' || refinement === 'ascending') return message;
  if (type === 'never') return 'is no known field';
  if (value === undefined) return 'is missing';
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** Checks the raw value, so that duplicates are reported together with the other mistakes. */
function duplicates(json: unknown): string[] {
  const models = (json as { models?: unknown } | null | undefined)?.models;
  if (!Array.isArray(models)) return [];
  const first = new Map<string, number>();
  const mistakes: string[] = [];
  models.forEach((model: Partial<RegistryModel> | null | undefined, i) => {
    if (typeof model?.id !== 'string' || typeof model.provider !== 'string') return;
    const key = `${model.provider} ${model.id}`;
    const seen = first.get(key);
    if (seen === undefined) first.set(key, i);
    else mistakes.push(`models[${i}].id: ${model.id} of ${model.provider} is already at models[${seen}]`);
  });
  return mistakes;
}
