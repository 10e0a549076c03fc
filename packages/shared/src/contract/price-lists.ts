/** The price list that holds for each host. The registry has these lists beside `openai` and `anthropic`. */
const HOSTS: readonly (readonly [list: string, host: RegExp])[] = [
  ['aws', /^bedrock(-runtime|-mantle)?\.[a-z0-9-]+\.(amazonaws\.com|api\.aws)$/],
  ['azure', /^[a-z0-9-]+\.(openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/],
  ['cerebras', /^api\.cerebras\.ai$/],
  ['cohere', /^api\.cohere\.(ai|com)$/],
  ['deepseek', /^api\.deepseek\.com$/],
  ['fireworks', /^api\.fireworks\.ai$/],
  ['google', /^([a-z0-9-]+\.)*googleapis\.com$/],
  ['groq', /^api\.groq\.com$/],
  ['minimax', /^api\.minimax\.(io|chat)$/],
  ['mistral', /^api\.mistral\.ai$/],
  ['moonshotai', /^api\.moonshot\.(ai|cn)$/],
  ['openrouter', /^openrouter\.ai$/],
  ['perplexity', /^api\.perplexity\.ai$/],
  ['together', /^api\.together\.(ai|xyz)$/],
  ['x-ai', /^api\.x\.ai$/],
  ['zai', /^api\.z\.ai$/],
];

export const OTHER_PRICE_LISTS: readonly string[] = HOSTS.map(([list]) => list);
/** A price list that operators may choose. Every model on it costs nothing, which is a known price. */
export const FREE = 'free';
export const PRICE_LISTS: readonly string[] = ['openai', 'anthropic', ...OTHER_PRICE_LISTS, FREE];

/** The lists that are searched for a model that the first list lacks. These providers resell at the maker's prices. */
export const SOLD_ON: Readonly<Record<string, readonly string[]>> = {
  azure: ['openai', 'anthropic', 'deepseek', 'x-ai', 'moonshotai'],
  google: ['anthropic'],
};

/** The price list for a provider's address. Undefined when the address does not tell who the provider is. */
export function priceListAt(baseUrl: string): string | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  return HOSTS.find(([, pattern]) => pattern.test(host))?.[0];
}

/** OpenAI's own addresses, with those of its regions, and Azure's. */
const OPENAI_ITSELF =
  /^(([a-z]{2}\.)?api\.openai\.com|[a-z0-9-]+\.(openai\.azure\.com|cognitiveservices\.azure\.com|services\.ai\.azure\.com))$/;

/** Whether a server of kind `openai` is OpenAI's own. Any other one takes some fields differently. */
export function isOpenaiItself(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && OPENAI_ITSELF.test(new URL(baseUrl).hostname);
}
