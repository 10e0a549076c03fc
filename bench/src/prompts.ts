export const PROMPTS = ['small', '100kb'] as const;
export type Prompt = (typeof PROMPTS)[number];

const SENTENCE = 'The lock keeper said: "Open the sluice a hand\'s breadth, and mind the gauge."\n';

export function promptText(prompt: Prompt): string {
  if (prompt === 'small') return 'Say ok.';
  return SENTENCE.repeat(Math.ceil((100 * 1024) / SENTENCE.length)).slice(0, 100 * 1024);
}
