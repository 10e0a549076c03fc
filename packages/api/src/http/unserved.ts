/** The message of a 404. Most of them come from a client that expects another API or another base URL. */
import type { Router } from '@koa/router';

const NO_RESPONSES =
  'The Responses API is not served here, chat completions are: `client.chat.completions.create` in the OpenAI SDKs, ' +
  '`openai.chat("<model>")` in the AI SDK, `set_default_openai_api("chat_completions")` in openai-agents, ' +
  '`use_responses_api=False` in LangChain.';
const NOT_SERVED: readonly [path: RegExp, why: string][] = [
  [/^(?:\/v1)?\/responses(?:\/|$)/, NO_RESPONSES],
  [/^(?:\/v1)?\/completions$/, 'The older completions API is not served here, chat completions are.'],
  [
    /^(?:\/v1)?\/messages(?:\/|$)/,
    'Anthropic’s Messages API is not served here; its models are, by chat completions.',
  ],
  [
    /^(?:\/v1)?\/(?:images|audio|moderations|assistants|threads|realtime)(?:\/|$)/,
    'This API is not served here.',
  ],
];

const HEALTH_CHECK = /z$/;

/** Explains an unknown path without quoting it. */
export function createExplainPath(routers: readonly Router[]): (path: string) => string {
  const routes = routers.flatMap(({ stack }) => stack).filter(({ path }) => !HEALTH_CHECK.test(String(path)));
  const served = routes.map(({ path, methods }) => {
    const method = methods.find((name) => name !== 'HEAD') ?? '';
    return `${method} ${String(path).replace(/[*:](\w+)/, '{$1}')}`;
  });
  const list = `Served here: ${served.join(', ')}.`;
  return (path) => {
    const plain = path.replace(/\/{2,}/g, '/').replace(/\/$/, '');
    const [, why] = NOT_SERVED.find(([pattern]) => pattern.test(plain)) ?? [];
    if (why !== undefined) return `${why} ${list}`;
    const meant = [plain, `/v1${plain}`, plain.replace(/^\/v1/, '')];
    const isNear = routes.some(({ regexp }) => meant.some((other) => regexp.test(other)));
    const hint = isNear
      ? ' Set the client’s base URL to the gateway’s address and /v1, with no slash behind it.'
      : '';
    return `There is nothing at this path.${hint} ${list}`;
  };
}
