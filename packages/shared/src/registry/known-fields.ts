/**
 * The top-level fields of a chat request whose cost the gateway knows. Some servers accept other fields that choose another
 * model, search the web or run something for money, such as OpenRouter's `models` and `plugins`.
 */
import { asksForEmbeddings, type ChatRequest } from '../chat.js';

const OF_OPENAI = `model messages audio frequency_penalty function_call functions logit_bias logprobs
  max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty
  prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed
  service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
  web_search_options`;
/** Sampling settings of other servers. They change the answer, but no price. */
/** Thoughts are output, within the same limit. */
const OF_THINKING = 'thinking reasoning';
const OF_SAMPLING = 'min_p random_seed repetition_penalty top_a top_k';

const KNOWN: ReadonlySet<string> = new Set(`${OF_OPENAI} ${OF_SAMPLING} ${OF_THINKING}`.split(/\s+/));
/** The gateway itself adds `messages`. The last ones are Mistral's and Voyage's. */
const OF_EMBEDDINGS: ReadonlySet<string> = new Set(
  'model input messages dimensions encoding_format user metadata output_dimension output_dtype input_type'.split(
    ' ',
  ),
);

/** The first field that the gateway does not know. `null` counts as absent. */
export function unknownFieldOf(request: ChatRequest): string | undefined {
  const known = asksForEmbeddings(request) ? OF_EMBEDDINGS : KNOWN;
  for (const field in request) if (!known.has(field) && request[field] !== null) return field;
  return undefined;
}

const MAX_SHOWN = 60;

/** The caller chooses a field's name, which may be long. */
export function shownField(field: string): string {
  return field.length <= MAX_SHOWN ? field : `${field.slice(0, MAX_SHOWN)}…`;
}
