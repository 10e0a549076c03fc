/**
 * Presets for providers that need no more than a name and a key. A preset has the fields that gateway.yaml would otherwise
 * need. A field of the file wins over the preset's. `{region}` and the like in an address are fields of the provider.
 */
export type Preset = Readonly<Record<string, unknown>>;

const GOOGLE_PROJECT =
  'https://{location-}aiplatform.googleapis.com/v1/projects/{project}/locations/{location}';
const GOOGLE_TOKEN = { token_command: ['gcloud', 'auth', 'print-access-token'] };

export const PRESETS: Readonly<Record<string, Preset>> = {
  openai: { kind: 'openai', base_url: 'https://api.openai.com/v1', api_key: '${OPENAI_API_KEY}' },
  anthropic: { kind: 'anthropic', base_url: 'https://api.anthropic.com', api_key: '${ANTHROPIC_API_KEY}' },
  azure: {
    kind: 'openai',
    base_url: 'https://{resource}.openai.azure.com/openai/v1',
    api_key: '${AZURE_OPENAI_API_KEY}',
    prices: 'azure',
  },
  'azure-deployments': {
    kind: 'openai',
    base_url: 'https://{resource}.openai.azure.com/openai',
    path: '/deployments/{model}/chat/completions',
    models_path: 'none',
    query: { 'api-version': '2024-10-21' },
    auth: { header: 'api-key' },
    api_key: '${AZURE_OPENAI_API_KEY}',
    prices: 'azure',
    responses_path: 'none',
  },
  'azure-anthropic': {
    kind: 'anthropic',
    base_url: 'https://{resource}.services.ai.azure.com/anthropic',
    models_path: 'none',
    api_key: '${ANTHROPIC_FOUNDRY_API_KEY}',
    prices: 'azure',
  },
  gemini: {
    kind: 'openai',
    base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    api_key: '${GEMINI_API_KEY}',
    prices: 'google',
    responses_path: 'none',
  },
  vertex: {
    kind: 'openai',
    base_url: `${GOOGLE_PROJECT}/endpoints/openapi`,
    models_path: 'none',
    auth: GOOGLE_TOKEN,
    prices: 'google',
    responses_path: 'none',
    embeddings_path: 'none',
  },
  'vertex-anthropic': {
    kind: 'anthropic',
    base_url: GOOGLE_PROJECT,
    path: '/publishers/anthropic/models/{model}:rawPredict',
    models_path: 'none',
    anthropic_version: 'vertex-2023-10-16',
    auth: { header: 'authorization', scheme: 'Bearer', ...GOOGLE_TOKEN },
    prices: 'google',
  },
  bedrock: {
    kind: 'openai',
    base_url: 'https://bedrock-runtime.{region}.amazonaws.com/openai/v1',
    models_path: 'none',
    auth: { service: 'bedrock' },
    api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    prices: 'aws',
    responses_path: 'none',
    embeddings_path: 'none',
  },
  'bedrock-anthropic': {
    kind: 'anthropic',
    base_url: 'https://bedrock-mantle.{region}.api.aws/anthropic',
    models_path: 'none',
    auth: { header: 'authorization', scheme: 'Bearer', service: 'bedrock-mantle' },
    api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    prices: 'aws',
  },
  'bedrock-invoke': {
    kind: 'anthropic',
    base_url: 'https://bedrock-runtime.{region}.amazonaws.com',
    path: '/model/{model}/invoke',
    models_path: 'none',
    anthropic_version: 'bedrock-2023-05-31',
    auth: { header: 'authorization', scheme: 'Bearer', service: 'bedrock' },
    api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    prices: 'aws',
  },
  mistral: {
    kind: 'openai',
    base_url: 'https://api.mistral.ai/v1',
    api_key: '${MISTRAL_API_KEY}',
    prices: 'mistral',
    responses_path: 'none',
  },
  groq: {
    kind: 'openai',
    base_url: 'https://api.groq.com/openai/v1',
    api_key: '${GROQ_API_KEY}',
    prices: 'groq',
    embeddings_path: 'none',
  },
  deepseek: {
    kind: 'openai',
    base_url: 'https://api.deepseek.com/v1',
    api_key: '${DEEPSEEK_API_KEY}',
    prices: 'deepseek',
    responses_path: 'none',
    embeddings_path: 'none',
  },
  xai: {
    kind: 'openai',
    base_url: 'https://api.x.ai/v1',
    api_key: '${XAI_API_KEY}',
    prices: 'x-ai',
    embeddings_path: 'none',
  },
  together: {
    kind: 'openai',
    base_url: 'https://api.together.xyz/v1',
    api_key: '${TOGETHER_API_KEY}',
    prices: 'together',
    responses_path: 'none',
  },
  fireworks: {
    kind: 'openai',
    base_url: 'https://api.fireworks.ai/inference/v1',
    api_key: '${FIREWORKS_API_KEY}',
    prices: 'fireworks',
  },
  openrouter: {
    kind: 'openai',
    base_url: 'https://openrouter.ai/api/v1',
    api_key: '${OPENROUTER_API_KEY}',
    prices: 'openrouter',
    cost: 'reported',
  },
  ollama: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1', prices: 'free' },
  vllm: { kind: 'openai', base_url: 'http://127.0.0.1:8000/v1', prices: 'free' },
};

/** The presets that need no more than a key. The others fetch a token, which only gateway.yaml may tell a worker to do. */
export const PRESETS_WITHOUT_TOKEN: readonly string[] = Object.keys(PRESETS).filter(
  (name) => !JSON.stringify(PRESETS[name]?.auth ?? '').includes('token_command'),
);

/** The variable that is read when the file leaves out a part of an address. A part not listed must be in the file. */
export const ADDRESS_PARTS: Readonly<Record<string, string | undefined>> = {
  resource: undefined,
  region: '${AWS_REGION}',
  project: '${GOOGLE_CLOUD_PROJECT}',
  location: '${GOOGLE_CLOUD_LOCATION:-global}',
};
