/** What is wrong with a text that was typed, by the rules of the contract. */
import { id, label } from '@sluice/shared/contract/common';
import type { Shape } from '@sluice/shared/contract/structs';
import { count } from '../format.js';

/** The id of a workspace, and the name of a provider or of one of its keys. */
export function idMistake(text: string): string | undefined {
  return id.is(text) ? undefined : 'Small letters, digits, - and _, at most 63';
}

/** The name of a key, a token or a workspace. */
export function labelMistake(text: string): string | undefined {
  if (text === '') return 'A name is needed';
  return label.is(text) ? undefined : 'At most 128 printable characters';
}

/** A number. It may be left out. */
export function numberMistake(shape: Shape, text: string): string | undefined {
  const isWhole = takesWhole(shape);
  const isNumber = (isWhole ? /^\d{1,15}$/ : /^\d{1,15}(\.\d{1,6})?$/).test(text);
  if (text === '' || (isNumber && shape.is(Number(text)))) return undefined;
  const { minimum, maximum } = shape.json;
  return isWhole
    ? `A whole number from ${count(Number(minimum))} to ${count(Number(maximum))}`
    : 'An amount such as 50';
}

/** The first thing that the contract says against a value. */
export function ruleMistake(shape: Shape, value: unknown): string | undefined {
  const [error] = shape.validate(value);
  return error?.failures()[0]?.message;
}

export function takesWhole({ json }: Shape): boolean {
  return [json.type].flat().includes('integer');
}
