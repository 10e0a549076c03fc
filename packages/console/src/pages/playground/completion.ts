/** As much of a chat completion as the playground shows. */
export interface Completion {
  choices: { message: { content: string | null; tool_calls?: unknown }; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}
