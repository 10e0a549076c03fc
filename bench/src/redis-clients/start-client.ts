import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { NODE_OPTIONS } from '@sluice/shared/process/node-options';
import { track } from '../children.js';
import { installRival } from '../install-rival.js';
import type { Client } from './clients.js';
import type { Sample, Turn } from './run-client.js';

export interface RunningClient {
  title: string;
  take(turn: Turn): Promise<Sample>;
  stop(): void;
}

/** A client in a process of its own, with the options of an api or worker process. It ends with this one. */
export async function startClient({ title, rival }: Client, url: string): Promise<RunningClient> {
  const folder = rival ? installRival(...rival, console.error) : '';
  const script = fileURLToPath(new URL('./run-client.js', import.meta.url));
  const child = fork(script, [title, url, folder], { env: { ...process.env, NODE_OPTIONS } });
  track(child);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the process of ${title} ended`)));
  ended.catch(() => {});
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  await answer();
  return {
    title,
    take(turn) {
      child.send(turn);
      return answer();
    },
    stop: () => child.disconnect(),
  };
}
