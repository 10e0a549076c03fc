import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KITS, PROGRAMS } from './kits.js';

export interface Client {
  name: string;
  title: string;
  kit: keyof typeof KITS;
  /** As the kit calls it. */
  program: string;
  /** Of docs/clients.md. */
  snippet: string;
  env?: Record<string, string>;
  /** The name that the snippet's package has in the kit, when it is another one than on the page. */
  snippetImports?: string;
  /** Its package's name in the kit's list of versions. */
  package: string;
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'openai-node-7',
    title: 'openai (Node)',
    kit: 'node',
    program: 'openai.mjs',
    snippet: 'openai-node',
    package: 'openai',
  },
  {
    name: 'openai-node-6',
    title: 'openai (Node)',
    kit: 'node',
    program: 'openai.mjs',
    snippet: 'openai-node',
    env: { OPENAI_MODULE: 'openai-6' },
    snippetImports: 'openai-6',
    package: 'openai-6',
  },
  {
    name: 'ai-sdk',
    title: 'AI SDK (ai, @ai-sdk/openai)',
    kit: 'node',
    program: 'ai-sdk.mjs',
    snippet: 'ai-sdk',
    package: 'ai',
  },
  {
    name: 'langchain-js',
    title: '@langchain/openai',
    kit: 'node',
    program: 'langchain.mjs',
    snippet: 'langchain-js',
    package: '@langchain/openai',
  },
  {
    name: 'openai-python',
    title: 'openai (Python)',
    kit: 'python-openai',
    program: 'openai_sdk.py',
    snippet: 'openai-python',
    package: 'openai',
  },
  {
    name: 'langchain-python',
    title: 'langchain-openai',
    kit: 'python',
    program: 'langchain_client.py',
    snippet: 'langchain-python',
    package: 'langchain-openai',
  },
  {
    name: 'llamaindex',
    title: 'llama-index-llms-openai-like',
    kit: 'python',
    program: 'llamaindex_client.py',
    snippet: 'llamaindex',
    package: 'llama-index-llms-openai-like',
  },
  {
    name: 'pydantic-ai',
    title: 'pydantic-ai',
    kit: 'python',
    program: 'pydantic_ai_client.py',
    snippet: 'pydantic-ai',
    package: 'pydantic-ai-slim[openai]',
  },
  {
    name: 'instructor',
    title: 'instructor',
    kit: 'python',
    program: 'instructor_client.py',
    snippet: 'instructor',
    package: 'instructor',
  },
  {
    name: 'litellm',
    title: 'litellm',
    kit: 'python',
    program: 'litellm_client.py',
    snippet: 'litellm',
    // Else it asks the internet for prices, three times, before it begins.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    package: 'litellm',
  },
  {
    name: 'openai-agents',
    title: 'openai-agents',
    kit: 'python',
    program: 'agents_client.py',
    snippet: 'openai-agents',
    package: 'openai-agents',
  },
  {
    name: 'openai-go',
    title: 'openai-go',
    kit: 'go',
    program: './features',
    snippet: 'openai-go',
    package: 'github.com/openai/openai-go/v3',
  },
  {
    name: 'openai-java',
    title: 'openai-java',
    kit: 'java',
    program: 'Features',
    snippet: 'openai-java',
    package: 'openai-java',
  },
  {
    name: 'async-openai',
    title: 'async-openai (Rust)',
    kit: 'rust',
    program: 'features',
    snippet: 'async-openai',
    package: 'async-openai',
  },
];

const VERSIONS: Record<Client['kit'], string> = {
  node: 'package.json',
  'python-openai': 'requirements-openai.txt',
  python: 'requirements.txt',
  go: 'go.mod',
  java: 'pom.xml',
  rust: 'Cargo.toml',
};

/** Out of the list that it is installed by. */
export function versionOf({ kit, package: name }: Client): string {
  const list = readFileSync(join(PROGRAMS, KITS[kit].programs, VERSIONS[kit]), 'utf8');
  const escaped = name.replace(/[^\w@-]/g, '\\$&');
  const start = list.search(new RegExp(`(?<![\\w/-])${escaped}(?![\\w-])`));
  return /\d+\.\d+\.\d+/.exec(list.slice(start + name.length))?.[0] ?? '';
}
