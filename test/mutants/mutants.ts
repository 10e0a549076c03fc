/** Changes to the product, each with a file of tests that notices it. */
export interface Mutant {
  /** The file of tests, such as `gateway/access`. */
  test: string;
  /** The file of the product, such as `packages/api/src/app.ts`. */
  file: string;
  /** Stands exactly once in the built file. */
  from: string;
  to: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    test: 'gateway/first-request',
    file: 'packages/api/src/chat/write-reply.ts',
    from: "'x-gateway-model'",
    to: "'x-gateway-modell'",
  },
];

export function builtFile({ file }: Mutant): string {
  return file.replace('/src/', '/dist/').replace(/\.tsx?$/, '.js');
}

/** The built text with the change in it. Throws when the place is not there, or not only once. */
export function mutate({ file, from, to }: Mutant, built: string): string {
  const places = built.split(from).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places with: ${from}`);
  return built.replace(from, () => to);
}
