export interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatDraft {
  workspace: string;
  model: string;
  /** A second route or model that gets the same question; empty for none. */
  other: string;
  system: string;
  text: string;
  temperature: string;
  maxTokens: string;
}

export interface ChatBody {
  model: string;
  messages: Message[];
  temperature?: number;
  max_tokens?: number;
}

/** What keeps the draft from being sent. */
export function mistakeOf({
  model,
  text,
  temperature,
  maxTokens,
}: ChatDraft): { field: string; text: string } | undefined {
  if (model === '') return { field: 'model', text: 'Choose a route or a model' };
  if (temperature !== '' && !/^\d(\.\d{1,3})?$/.test(temperature))
    return { field: 'temperature', text: 'A number such as 0.7' };
  if (maxTokens !== '' && !/^[1-9]\d{0,6}$/.test(maxTokens))
    return { field: 'maxTokens', text: 'A whole number' };
  return text.trim() === '' ? { field: 'text', text: 'Write a message' } : undefined;
}

export function toBody(
  { model, system, text, temperature, maxTokens }: ChatDraft,
  past: readonly Message[],
): ChatBody {
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...past,
      { role: 'user', content: text },
    ],
    ...(temperature === '' ? {} : { temperature: Number(temperature) }),
    ...(maxTokens === '' ? {} : { max_tokens: Number(maxTokens) }),
  };
}
