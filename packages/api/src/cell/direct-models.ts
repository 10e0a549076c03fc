const PREFIXES: readonly (readonly [prefix: RegExp, provider: string])[] = [
  [/^gpt-/, 'openai'],
  // Where a slash follows, it is the name of another provider, such as ollama.
  [/^o[^/]*$/, 'openai'],
  [/^text-embedding-/, 'openai'],
  [/^claude-/, 'anthropic'],
];

/** The provider of a direct model id, by the id's prefix. Undefined when the model needs a route. */
export function directProviderOf(model: string): string | undefined {
  return PREFIXES.find(([prefix]) => prefix.test(model))?.[1];
}

/** Models of any other provider can only be used through a route. */
export const DIRECT_PROVIDERS: ReadonlySet<string> = new Set(PREFIXES.map(([, provider]) => provider));
