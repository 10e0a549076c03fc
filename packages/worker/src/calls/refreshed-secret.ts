/**
 * A secret that expires: the content of a file that somebody rewrites, or the output of a command. It is fetched again in
 * the background before it expires. A call waits only when there is no valid secret.
 */
import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import type { TokenSource } from '@sluice/shared/config/provider';

const COMMAND_MS = 15_000;
const MAX_BYTES = 64 * 1024;
/** The lifetimes when neither the secret nor the configuration states one. */
const FILE_LIFETIME_MS = 60_000;
const COMMAND_LIFETIME_MS = 300_000;
/** The secret is fetched again this long before it expires, or earlier when its whole lifetime is short. */
const EARLY_MS = 300_000;
const EARLY_SHARE = 0.2;
/** After a failure the secret is not fetched again for this long. */
const PAUSE_MS = 2_000;

export interface Fetched<T> {
  value: T;
  /** Milliseconds since 1970. Undefined: the secret does not state it. */
  expires?: number | undefined;
}

interface Kept<T> extends Fetched<T> {
  /** The unchanged text. Two fetches may bring the same. */
  text: string;
  expires: number;
  refreshAt: number;
}

export class RefreshedSecret<T> {
  #kept: Kept<T> | undefined;
  #fetching: Promise<T | undefined> | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  /** `parse` throws for what is none. `onFetched` is told undefined, or what went wrong: never the secret. */
  constructor(
    private readonly source: TokenSource,
    private readonly lifetimeMs: number | undefined,
    private readonly parse: (text: string) => Fetched<T>,
    private readonly onFetched: (error: unknown) => void,
  ) {}

  /** Undefined when there is no valid secret and fetching one failed. */
  current(): T | undefined | Promise<T | undefined> {
    const now = Date.now();
    const kept = this.#kept;
    if (kept && now < kept.refreshAt) return kept.value;
    const mayFetch = now - this.#failedAt > PAUSE_MS;
    if (kept && now < kept.expires) {
      if (mayFetch) void this.#fetch();
      return kept.value;
    }
    return mayFetch || this.#fetching ? this.#fetch() : undefined;
  }

  /** Fetches the secret now. True when it has changed. */
  async renew(): Promise<boolean> {
    const before = this.#kept?.text;
    const value = await this.#fetch();
    return value !== undefined && this.#kept?.text !== before;
  }

  /** Texts of this secret that a provider might quote. */
  known(): readonly string[] {
    return typeof this.#kept?.value === 'string' ? [this.#kept.value] : [];
  }

  /** Simultaneous callers share one fetch. */
  #fetch(): Promise<T | undefined> {
    this.#fetching ??= this.#read().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #read(): Promise<T | undefined> {
    try {
      const text = await ('file' in this.source ? readFile(this.source.file) : run(this.source.command));
      const now = Date.now();
      const fetched = this.parse(text);
      const standard = 'file' in this.source ? FILE_LIFETIME_MS : COMMAND_LIFETIME_MS;
      const expires = fetched.expires ?? now + (this.lifetimeMs ?? standard);
      if (expires <= now) throw new Error('the token has expired already');
      const refreshAt = expires - Math.min(EARLY_MS, (expires - now) * EARLY_SHARE);
      this.#kept = { ...fetched, text, expires, refreshAt };
      this.onFetched(undefined);
      return fetched.value;
    } catch (error) {
      this.#failedAt = Date.now();
      this.onFetched(error);
      return this.#kept && Date.now() < this.#kept.expires ? this.#kept.value : undefined;
    }
  }
}

/** Reads only the first bytes, because a wrong path must not fill the memory. */
async function readFile(path: string): Promise<string> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`the token file cannot be read (${error.code})`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new Error('the token file is no file');
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
    if (bytesRead > MAX_BYTES) throw new Error('the token file is larger than 64 KiB');
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Runs the command without a shell. Its error output may have secrets, and is not shown. */
function run([command = '', ...words]: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: COMMAND_MS, maxBuffer: MAX_BYTES, killSignal: 'SIGKILL' } as const;
    const child = execFile(command, words, options, (error, stdout) => {
      if (!error) resolve(stdout);
      else if (error.killed)
        reject(new Error('the token command took longer than 15 s, or printed too much'));
      else reject(new Error(`the token command failed (${error.code ?? error.signal})`));
    });
    child.stdin?.end();
  });
}

/** A bare token, or the JSON that the metadata server of Google, `az` and OAuth endpoints answer with. */
export function parseToken(text: string): Fetched<string> {
  const trimmed = text.trim();
  const fields = trimmed.startsWith('{') ? parseFields(trimmed) : undefined;
  const token = fields ? (fields.access_token ?? fields.accessToken ?? fields.token) : trimmed;
  // A header cannot carry any other character, and an HTTP client's own error would quote the token.
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token))
    throw new Error(
      'the token source has no token: neither a line of printable ASCII nor JSON with access_token',
    );
  const expires = fields ? readExpiry(fields) : undefined;
  return { value: token, expires: expires ?? jwtExpiry(token) };
}

export function parseFields(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The parser's own error would quote the text.
  }
  throw new Error('the token source printed JSON that cannot be read');
}

function readExpiry(fields: Record<string, unknown>): number | undefined {
  const seconds = Number(fields.expires_in);
  if (seconds > 0) return Date.now() + seconds * 1000;
  return toMoment(fields.expires_on ?? fields.expiresOn ?? fields.expiry ?? fields.expires_at);
}

/** Unix seconds, or a date. */
export function toMoment(value: unknown): number | undefined {
  const moment = /^\d{9,11}$/.test(String(value)) ? Number(value) * 1000 : Date.parse(String(value));
  return Number.isFinite(moment) ? moment : undefined;
}

/** Tokens of Entra and of Kubernetes state when they expire. */
function jwtExpiry(token: string): number | undefined {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? [];
  if (claims === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
