/** The price list that holds for each host, and whose it is. The registry has these lists beside `openai` and `anthropic`. */
const HOSTS: readonly (readonly [list: string, host: RegExp, name: string])[] = [
  ['aws', /^bedrock(-runtime|-mantle)?\.[a-z0-9-]+\.(amazonaws\.com|api\.aws)$/, 'Amazon Web Services'],
  [
    'azure',
    /^[a-z0-9-]+\.(openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/,
    'Microsoft Azure',
  ],
  ['cerebras', /^api\.cerebras\.ai$/, 'Cerebras'],
  ['cohere', /^api\.cohere\.(ai|com)$/, 'Cohere'],
  ['deepseek', /^api\.deepseek\.com$/, 'DeepSeek'],
  ['fireworks', /^api\.fireworks\.ai$/, 'Fireworks AI'],
  ['google', /^([a-z0-9-]+\.)*googleapis\.com$/, 'Google Cloud'],
  ['groq', /^api\.groq\.com$/, 'Groq'],
  ['minimax', /^api\.minimax\.(io|chat)$/, 'MiniMax'],
  ['mistral', /^api\.mistral\.ai$/, 'Mistral AI'],
  ['moonshotai', /^api\.moonshot\.(ai|cn)$/, 'Moonshot AI'],
  ['openrouter', /^openrouter\.ai$/, 'OpenRouter'],
  ['perplexity', /^api\.perplexity\.ai$/, 'Perplexity'],
  ['together', /^api\.together\.(ai|xyz)$/, 'Together AI'],
  ['x-ai', /^api\.x\.ai$/, 'xAI'],
  ['zai', /^api\.z\.ai$/, 'Z.AI'],
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

const MAKERS: readonly (readonly [name: string, host: RegExp])[] = [
  ['OpenAI', /^([a-z]{2}\.)?api\.openai\.com$/],
  ['Anthropic', /^api\.anthropic\.com$/],
];

/** Who sends the bill of a provider. Undefined when its address does not tell. */
export function companyAt(baseUrl: string): string | undefined {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  return (
    MAKERS.find(([, pattern]) => pattern.test(host))?.[0] ??
    HOSTS.find(([, pattern]) => pattern.test(host))?.[2]
  );
}

/** OpenAI's own addresses, with those of its regions, and Azure's. */
const OPENAI_ITSELF =
  /^(([a-z]{2}\.)?api\.openai\.com|[a-z0-9-]+\.(openai\.azure\.com|cognitiveservices\.azure\.com|services\.ai\.azure\.com))$/;

/** Whether a server of kind `openai` is OpenAI's own. Any other one takes some fields differently. */
export function isOpenaiItself(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && OPENAI_ITSELF.test(new URL(baseUrl).hostname);
}
