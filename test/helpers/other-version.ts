/**
 * Makes a process one of another version: `--import` this, with the protocols that it speaks in OTHER_PROTOCOLS. The module
 * that numbers them is changed as it is loaded, as an edited copy of the build would be.
 */
import { type LoadHook, register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const NUMBERS = /\{ oldest: \d+, newest: \d+ \}/;

export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith('/process/protocol.js')) return loaded;
  const source = String(loaded.source).replace(NUMBERS, process.env.OTHER_PROTOCOLS ?? '');
  return { ...loaded, source };
};

export function speaking(protocols: { oldest: number; newest: number }): Record<string, string> {
  return { NODE_OPTIONS: `--import ${import.meta.url}`, OTHER_PROTOCOLS: JSON.stringify(protocols) };
}
