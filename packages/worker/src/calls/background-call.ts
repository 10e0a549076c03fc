/**
 * A call that the provider carries out in the background. It answers at once with an id, by which any worker with the same key
 * can ask for the answer. A question costs no tokens. Questions come less and less often, and end with the call's time.
 */
import { isRedisAway } from '@sluice/shared/redis/away';
import { isObject, toId } from '../providers/json.js';
import type { Credentials } from './credentials-type.js';
import { type HttpAnswer, type HttpClient, HttpFailure } from './http-client.js';
import type { Run } from './run.js';
import { StopSignal } from './stop-signal.js';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const SLOWER = 1.4;
/** How long a response that nobody needs any more is tried to be ended or deleted. */
const TIDY_MS = 10_000;
const ID = /^[\w-]{1,128}$/;
const UNDER_WAY: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

/** Who is asked. */
interface Asked {
  config: { baseUrl: string };
  credentials: Credentials;
  http: HttpClient;
}

/** What a call in the background needs of its job. */
export interface Background {
  /** The response that an earlier run of the job has begun. */
  id?: string | undefined;
  /** Writes the id down. False: another run has the job. Throws while Redis is away. */
  keep(id: string): Promise<boolean>;
}

export class BackgroundCall {
  #id: string | undefined;
  #isKept: boolean;

  constructor(
    private readonly upstream: Asked,
    private readonly path: string,
    private readonly background: Background,
  ) {
    this.#id = background.id;
    this.#isKept = background.id !== undefined;
  }

  get hasBegun(): boolean {
    return this.#id !== undefined;
  }

  /** The answer to the first call tells the id. One that is no response under way is the answer itself. */
  begins(answer: HttpAnswer): boolean {
    const { status, body } = answer;
    if (status > 299 || !isObject(body) || !UNDER_WAY.has(body.status)) return false;
    const id = toId(body.id);
    if (id === undefined || !ID.test(id)) return false;
    this.#id = id;
    return true;
  }

  async answer(leftMs: () => number, run: Pick<Run, 'signal' | 'answer'>): Promise<HttpAnswer> {
    const { signal, answer: share } = run;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * SLOWER, LONGEST_WAIT_MS)) {
      await this.#keep(signal);
      await signal.wait(Math.min(waitMs, leftMs()));
      if (signal.reason) throw new HttpFailure('cancelled', true, undefined);
      if (leftMs() <= 1) throw new HttpFailure('timeout', true, undefined);
      const answer = await this.#ask('GET', '', leftMs(), signal, share).catch(passing);
      if (answer && !isUnderWay(answer)) return answer;
    }
  }

  /** Nobody needs the response any more. `isUnderWay`: it is ended first. What cannot be deleted the provider forgets by itself. */
  async tidy(isUnderWay: boolean): Promise<void> {
    const share = { take: () => true, giveBack: () => {} } as unknown as Run['answer'];
    const ask = (method: 'POST' | 'DELETE', action: string) =>
      this.#ask(method, action, TIDY_MS, new StopSignal(), share).catch(() => undefined);
    if (isUnderWay) await ask('POST', '/cancel');
    await ask('DELETE', '');
  }

  /** Stops the run if it has lost its job to another one. */
  async askWhoseItIs(signal: StopSignal): Promise<void> {
    this.#isKept = false;
    await this.#keep(signal);
  }

  /** While Redis is away the id is only here, and it is tried again with every question. */
  async #keep(signal: StopSignal): Promise<void> {
    if (this.#isKept || this.#id === undefined) return;
    try {
      this.#isKept = await this.background.keep(this.#id);
      if (!this.#isKept) signal.stop('lock_lost');
    } catch (error) {
      if (!isRedisAway(error)) throw error;
    }
  }

  async #ask(
    method: 'GET' | 'POST' | 'DELETE',
    action: string,
    ms: number,
    signal: StopSignal,
    share: Run['answer'],
  ): Promise<HttpAnswer> {
    const { config, credentials, http } = this.upstream;
    const [base = '', query] = this.path.split('?', 2);
    const path = `${base}/${this.#id}${action}${query === undefined ? '' : `?${query}`}`;
    const headers = await credentials.headersFor({ method, url: config.baseUrl + path, body: '' });
    if (!headers) throw new HttpFailure('connection', false, undefined);
    const body = method === 'POST' ? '{}' : null;
    return http.post(path, headers, body, ms, signal, share, { method });
  }
}

/** A provider that cannot be reached, or is busy, still works on the call. */
function passing(error: unknown): undefined {
  if (!(error instanceof HttpFailure) || error.reason === 'cancelled' || error.reason === 'too_large')
    throw error;
}

function isUnderWay({ status, body }: HttpAnswer): boolean {
  if (status === 429 || status >= 500) return true;
  return status < 300 && isObject(body) && UNDER_WAY.has(body.status);
}
