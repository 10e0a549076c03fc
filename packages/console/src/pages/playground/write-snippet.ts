import type { ChatBody } from './chat-draft.js';

export const LANGUAGES = [
  ['curl', 'curl'],
  ['node', 'Node'],
  ['python', 'Python'],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

export function writeSnippet(language: Language, body: ChatBody, baseUrl: string): string {
  if (language === 'curl') return curl(body, baseUrl);
  return language === 'node' ? node(body, baseUrl) : python(body, baseUrl);
}

/** An address that means "all of this machine's" is none that can be called. */
export function reachable(baseUrl: string, hostname: string): string {
  return baseUrl.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=[:/])/, `http://${hostname}`);
}

function curl(body: ChatBody, baseUrl: string): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl -i ${quoted(`${baseUrl}/chat/completions`)} \\`,
    `  -H "authorization: Bearer $GATEWAY_KEY" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${json}'`,
  ].join('\n');
}

function quoted(text: string): string {
  return /^[\w:/.[\]-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function node(body: ChatBody, baseUrl: string): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${JSON.stringify(baseUrl)},
  apiKey: process.env.GATEWAY_KEY,
});
const completion = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(completion.choices[0].message.content);`;
}

function python(body: ChatBody, baseUrl: string): string {
  const fields = Object.entries(body).map(
    ([name, value]) => `    ${name}=${JSON.stringify(value, null, 4).replaceAll('\n', '\n    ')},`,
  );
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key=os.environ["GATEWAY_KEY"])
completion = client.chat.completions.create(
${fields.join('\n')}
)
print(completion.choices[0].message.content)`;
}
