/**
 * Keeps requests together whose prompts begin alike, so that they find that beginning in the provider's cache
 * (docs/adr/0042-the-first-of-its-prefix.md). A route asks for it, or a request with a `prompt_cache_key`. No other request
 * comes here.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { chooseWarm } from './choose-members.js';
import type { Resolved } from './resolve-model.js';

const BYTES_PER_TOKEN = 4;
/** No provider caches a shorter prompt. */
const LEAST_TOKENS = 1_024;
const DIGEST_CHARS = 32;
const RECORD = /^s \d+ \S* (.*)$/;

export type KeptTogether = Pick<ChatJob, 'chain' | 'prefix'>;

export class WarmPrefixes {
  constructor(
    private readonly redis: Pick<Redis, 'hget'>,
    private readonly names: ShardNames,
    private readonly payloads: Payloads,
  ) {}

  /** The chain of the request, with the member of a group first that served such a prompt last. */
  async of(
    workspace: string,
    request: ChatRequest,
    { chain, warmPrefixTokens, groups }: Resolved,
    providers: ReadonlyMap<string, unknown>,
  ): Promise<KeptTogether> {
    const prefix = this.#digestOf(workspace, request, warmPrefixTokens);
    if (prefix === undefined) return { chain };
    return { prefix, chain: groups ? await this.#chain(groups, workspace, prefix, providers) : chain };
  }

  async #chain(
    groups: NonNullable<Resolved['groups']>,
    workspace: string,
    prefix: string,
    providers: ReadonlyMap<string, unknown>,
  ): Promise<ChainEntry[]> {
    const record = await this.redis.hget(this.names.prefixes(workspace), prefix);
    const last = RECORD.exec(record ?? '')?.[1];
    return chooseWarm(groups, prefix, last).filter(({ provider }) => providers.has(provider));
  }

  /** Undefined when the prompt is too short. A key of the caller's own names the beginning by itself. */
  #digestOf(workspace: string, request: ChatRequest, tokens: number | undefined): string | undefined {
    const { model, prompt_cache_key: key } = request;
    const named = typeof key === 'string' && key !== '';
    if (!named && tokens === undefined) return undefined;
    const length = BYTES_PER_TOKEN * (named ? LEAST_TOKENS : (tokens ?? 0));
    const beginning = beginningOf(request, length);
    if (beginning.length < length) return undefined;
    const what = named ? `key\n${key}` : `text\n${beginning.slice(0, length)}`;
    const [digest] = this.payloads.fingerprints(`prefix\n${workspace}\n${model}\n${what}`);
    return digest.slice(-DIGEST_CHARS);
  }
}

/** The prompt as providers read it, tools first, until it is long enough. */
function beginningOf({ tools, messages }: ChatRequest, length: number): string {
  let text = tools === undefined ? '' : JSON.stringify(tools);
  for (const message of messages) {
    if (text.length >= length) break;
    text += JSON.stringify(message);
  }
  return text;
}

/** Whether a request is to be kept together with others at all. */
export function isKeptTogether(request: ChatRequest, { warmPrefixTokens }: Resolved): boolean {
  return warmPrefixTokens !== undefined || (request.prompt_cache_key ?? null) !== null;
}
