/** One question and what came of it, from one route or model or from two. */
import { type AdminClient, type AdminError, asAdminError, path } from '../../admin-client.js';
import { type ChatDraft, type Message, toBody } from './chat-draft.js';

const SHOWN_HEADERS = /^(?:x-gateway-|x-request-id$)/;

/** As much of a chat completion as the playground shows. */
interface Completion {
  choices: { message: { content: string | null; tool_calls?: unknown }; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export interface ModelAnswer {
  model: string;
  text: string;
  completion: Completion;
  headers: [name: string, value: string][];
}

export interface FailedAnswer {
  model: string;
  error: AdminError;
}

export interface Round {
  question: string;
  answers: (ModelAnswer | FailedAnswer)[];
}

/** What a model was told and has answered so far. A round in which it failed is left out. */
export function pastOf(rounds: readonly Round[], model: string): Message[] {
  return rounds.flatMap(({ question, answers }): Message[] => {
    const answer = answers.find((each) => each.model === model) ?? answers[0];
    if (!answer || 'error' in answer) return [];
    return [
      { role: 'user', content: question },
      { role: 'assistant', content: answer.text },
    ];
  });
}

export function modelsOf({ model, other }: ChatDraft): string[] {
  return other === '' || other === model ? [model] : [model, other];
}

/** Asks all at the same time. The failure of one of two is shown in the place of its answer. */
export async function askAll(
  client: AdminClient,
  draft: ChatDraft,
  rounds: readonly Round[],
): Promise<Round> {
  const models = modelsOf(draft);
  const answers = await Promise.all(
    models.map(async (model) => {
      try {
        return await ask(client, { ...draft, model }, pastOf(rounds, model));
      } catch (error) {
        if (models.length === 1) throw error;
        return { model, error: asAdminError(error) };
      }
    }),
  );
  return { question: draft.text, answers };
}

async function ask(client: AdminClient, draft: ChatDraft, past: Message[]): Promise<ModelAnswer> {
  const response = await client.fetch(path`/workspaces/${draft.workspace}/playground`, {
    method: 'POST',
    body: toBody(draft, past),
  });
  const completion = (await response.json()) as Completion;
  return {
    model: draft.model,
    text: completion.choices[0]?.message.content ?? '',
    completion,
    headers: [...response.headers].filter(([name]) => SHOWN_HEADERS.test(name)),
  };
}
