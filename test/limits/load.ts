/** Requests at a fixed rate, whatever becomes of those before: callers do not slow down because a gateway does. */

export interface Aim {
  url: string;
  key: string;
  model: string;
  headers?: Record<string, string>;
}

export interface Tally {
  sent: number;
  served: number;
  /** Answered with 429. */
  refused: number;
  failed: number;
}

export interface Shape {
  /** Characters of the prompt. */
  promptChars: number;
  maxTokens: number;
}

/** Sends until the moment is reached, and waits for the answers. */
export async function sendSteadily(
  aim: Aim,
  { promptChars, maxTokens }: Shape,
  perSecond: number,
  ms: number,
): Promise<Tally> {
  const tally: Tally = { sent: 0, served: 0, refused: 0, failed: 0 };
  const body = JSON.stringify({
    model: aim.model,
    messages: [{ role: 'user', content: 'word '.repeat(promptChars / 5) }],
    max_tokens: maxTokens,
  });
  const send = async () => {
    tally.sent++;
    try {
      const response = await fetch(`${aim.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${aim.key}`, ...aim.headers },
        body,
      });
      await response.arrayBuffer();
      if (response.ok) tally.served++;
      else if (response.status === 429) tally.refused++;
      else tally.failed++;
    } catch {
      tally.failed++;
    }
  };
  const started = performance.now();
  const answers: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - started;
      while (tally.sent < (elapsed / 1000) * perSecond) answers.push(send());
      if (elapsed < ms) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
  await Promise.all(answers);
  return tally;
}
