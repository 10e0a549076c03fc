const PREFIXES: readonly (readonly [prefix: string, provider: string])[] = [
  ['gpt-', 'openai'],
  ['o', 'openai'],
  ['text-embedding-', 'openai'],
  ['claude-', 'anthropic'],
];

/** The provider that a direct model id goes to, by its prefix; undefined when it can only be used through a route. */
export function directProviderOf(model: string): string | undefined {
  return PREFIXES.find(([prefix]) => model.startsWith(prefix))?.[1];
}

/** Models of any other provider can only be used through a route. */
export const DIRECT_PROVIDERS: ReadonlySet<string> = new Set(PREFIXES.map(([, provider]) => provider));
