const LABEL = /^\P{C}{1,128}$/u;

/** What is wrong with the name of a key, a token or a workspace. */
export function labelMistake(text: string): string | undefined {
  if (text === '') return 'A name is needed';
  return LABEL.test(text) ? undefined : 'At most 128 printable characters';
}
