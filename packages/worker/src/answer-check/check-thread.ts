/** The thread that applies schemas. An endless regular expression in a schema blocks only this thread. */
import { parentPort } from 'node:worker_threads';
import { type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { threadMs } from './cpu-time.js';
import type { Claim, Judged, Verdict } from './schema-checker.js';

parentPort?.on('message', (claims: readonly Claim[]) => {
  const [began, usedBefore] = [performance.now(), threadMs()];
  const verdict = judge(claims);
  const tookMs = Math.min(performance.now() - began, threadMs() - usedBefore);
  parentPort?.postMessage({ verdict, tookMs } satisfies Judged);
});
parentPort?.postMessage('ready');

function judge(claims: readonly Claim[]): Verdict {
  try {
    return claims.every(fits) ? 'fits' : 'unfit';
  } catch {
    // The schema is invalid, or refers to something that does not exist.
    return 'unchecked';
  }
}

function fits({ schema: json, text }: Claim): boolean {
  const schema = JSON.parse(json) as Schema;
  const validator = new Validator(schema, draftOf(schema.$schema));
  const value = parse(text);
  return value !== undefined && validator.validate(value.json).valid;
}

function parse(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function draftOf(uri: unknown): SchemaDraft {
  const old = typeof uri === 'string' ? /draft-0([47])/.exec(uri)?.[1] : undefined;
  return old === '4' || old === '7' ? old : '2020-12';
}
