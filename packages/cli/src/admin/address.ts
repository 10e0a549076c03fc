import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import { TOKEN } from '@sluice/shared/contract/access';
import { CliError } from '../output/cli-error.js';

const DEFAULT_URL = 'http://127.0.0.1:8081';
/** Where `npm start` keeps the admin token and address, below its working directory. */
const FOLDER = '.sluice';

export const MADE_TOKEN = `${FOLDER}/admin-token`;
export const TOKEN_PLACES = `ADMIN_TOKEN, ADMIN_TOKEN_FILE or ${MADE_TOKEN}`;

export interface AdminAddress {
  url: string;
  token: string;
  /** Where the token came from, for people. */
  tokenFrom: string;
}

/** Reads the environment first, then the files that `npm start` left in the working directory. */
export function findAdmin(env: Env, directory: string): AdminAddress {
  const set = look(env, 'ADMIN_URL') ?? readFrom(join(directory, FOLDER, 'admin-url')) ?? DEFAULT_URL;
  const url = /^https?:\/\//i.test(set) && URL.canParse(set) ? new URL(set) : undefined;
  if (!url || url.username + url.password + url.search + url.hash !== '')
    throw new CliError('ADMIN_URL must be an http or https address such as http://127.0.0.1:8081');
  const given = look(env, 'ADMIN_TOKEN');
  // The token that `npm start` made is for this machine: it is not shown to whoever ADMIN_URL names.
  const token = given ?? (isLoopback(url) ? readFrom(join(directory, MADE_TOKEN)) : undefined);
  if (token === undefined)
    throw new CliError(
      `there is no admin token: looked for ${TOKEN_PLACES} (in ${directory}); "npm start" makes one`,
    );
  if (!TOKEN.pattern.test(token)) throw new CliError(`the admin token must be ${TOKEN.allowed}`);
  return {
    url: url.href.replace(/\/+$/, ''),
    token,
    tokenFrom:
      given === undefined ? MADE_TOKEN : env.ADMIN_TOKEN?.trim() ? 'ADMIN_TOKEN' : 'ADMIN_TOKEN_FILE',
  };
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

function look(env: Env, name: string): string | undefined {
  const { value, mistake } = lookupEnv(env, name);
  if (mistake !== undefined) throw new CliError(mistake);
  return value;
}

function readFrom(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
