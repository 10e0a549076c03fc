/**
 * The caches of prompts that the providers keep, for each organisation and model. What a call writes can be read by calls that
 * arrive after its answer. OpenAI caches by itself, in steps of 128 tokens from 1,024 on. Anthropic caches up to the blocks
 * that are marked with `cache_control`, and looks back from each for a few blocks. Every use makes an entry live on.
 *
 * OpenAI spreads a prefix over several machines when it comes very often. That is not simulated.
 */
import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { countText, tokensOf } from './answer-text.js';
import { type Dialect, type Fields, isFields } from './dialect.js';

export interface CacheOptions {
  /** Of an entry that nobody uses (default: five minutes). */
  lifeMs?: number;
  /** The organisation that a key belongs to. By default every key has its own. */
  organisationOf?(key: string): string;
}

const LIFE_MS = 300_000;
const HOUR_MS = 3_600_000;
const OPENAI_LEAST_TOKENS = 1_024;
const OPENAI_STEP_TOKENS = 128;
const CHARS_PER_TOKEN = 4;
const ANTHROPIC_LEAST_TOKENS = 1_024;
/** Of the models that cache only longer prompts. */
const ANTHROPIC_LEAST_OF = [{ model: /haiku-4-5|opus-4-5/, tokens: 4_096 }];
const LOOK_BACK_BLOCKS = 20;

/** Puts what was read and written into the usage of the answer, and keeps what was written. */
type Answered = (answer: Fields) => void;

export class PromptCaches {
  /** Digest of organisation, model and prefix → until when. */
  readonly #entries = new Map<string, number>();

  constructor(
    private readonly options: CacheOptions,
    private readonly now = () => Date.now(),
  ) {}

  /** A call arrives. Undefined: it has nothing to do with a cache. */
  arrive({ chatPath }: Dialect, headers: IncomingHttpHeaders, body: unknown): Answered | undefined {
    if (!isFields(body) || !Array.isArray(body.messages)) return undefined;
    const key = headers['x-api-key'] ?? headers.authorization ?? '';
    const organisation = this.options.organisationOf?.(String(key).replace(/^Bearer /, '')) ?? String(key);
    const start = createHash('sha256').update(JSON.stringify([organisation, body.model, body.tools]));
    if (chatPath === '/v1/messages') return this.#anthropic(start, body, body.messages);
    return chatPath.endsWith('/chat/completions') ? this.#openai(start, body.messages) : undefined;
  }

  #openai(start: Hash, messages: readonly unknown[]): Answered {
    const text = messages.map((each) => (isFields(each) ? textOf(each.content) : '')).join('');
    const steps: string[] = [];
    const chars = OPENAI_STEP_TOKENS * CHARS_PER_TOKEN;
    for (let at = 0; at + chars <= text.length; at += chars)
      steps.push(
        start
          .update(text.slice(at, at + chars))
          .copy()
          .digest('base64'),
      );
    const known = steps.findLastIndex((step) => this.#has(step)) + 1;
    const cached = known * OPENAI_STEP_TOKENS;
    return ({ usage }) => {
      for (const step of steps) this.#keep(step, this.options.lifeMs ?? LIFE_MS);
      const details = isFields(usage) ? usage.prompt_tokens_details : undefined;
      if (isFields(details)) details.cached_tokens = cached >= OPENAI_LEAST_TOKENS ? cached : 0;
    };
  }

  #anthropic(start: Hash, body: Fields, messages: readonly unknown[]): Answered | undefined {
    const blocks = [
      body.system,
      ...messages.map((each) => (isFields(each) ? each.content : undefined)),
    ].flat();
    let chars = 0;
    const ends = blocks.map((block) => {
      chars += countText([isFields(block) ? block : { text: block }]);
      const { cache_control: control, ...rest } = isFields(block) ? block : { text: block };
      const digest = start.update(JSON.stringify(rest)).copy().digest('base64');
      return { digest, tokens: tokensOf(chars), control: isFields(control) ? control : undefined };
    });
    const marked = ends.flatMap(({ control }, i) => (control ? [i] : []));
    const last = ends[marked.at(-1) ?? -1];
    if (!last) return undefined;
    const least =
      ANTHROPIC_LEAST_OF.find(({ model }) => model.test(String(body.model)))?.tokens ??
      ANTHROPIC_LEAST_TOKENS;
    const found = marked
      .flatMap((i) => ends.slice(Math.max(0, i - LOOK_BACK_BLOCKS), i + 1))
      .filter(({ digest }) => this.#has(digest));
    const read = Math.max(0, ...found.map(({ tokens }) => tokens));
    const written = last.tokens >= least ? last.tokens - read : 0;
    const isHour = last.control?.ttl === '1h';
    return ({ usage }) => {
      for (const i of marked) {
        const { digest, tokens, control } = ends[i] as (typeof ends)[number];
        if (tokens >= least)
          this.#keep(digest, control?.ttl === '1h' ? HOUR_MS : (this.options.lifeMs ?? LIFE_MS));
      }
      if (!isFields(usage)) return;
      usage.input_tokens = Math.max(0, Number(usage.input_tokens) - read - written);
      usage.cache_read_input_tokens = read;
      usage.cache_creation_input_tokens = written;
      usage.cache_creation = {
        ephemeral_5m_input_tokens: isHour ? 0 : written,
        ephemeral_1h_input_tokens: isHour ? written : 0,
      };
    };
  }

  #has(digest: string): boolean {
    return (this.#entries.get(digest) ?? 0) > this.now();
  }

  #keep(digest: string, ms: number): void {
    this.#entries.set(digest, this.now() + ms);
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isFields(part) && typeof part.text === 'string' ? part.text : '')).join('');
}
