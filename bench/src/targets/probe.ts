import type { RunningTarget } from './target.js';

/** One request, looked at closely: a gateway that answers fast but wrong must not be measured. */
export async function probe(
  title: string,
  { url, headers, caller }: Pick<RunningTarget, 'url' | 'headers' | 'caller'>,
): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: caller.model, messages: [{ role: 'user', content: 'Say ok.' }] }),
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes('"chat.completion"'))
    throw new Error(`${title} does not answer: ${response.status} ${text.slice(0, 500)}`);
}
