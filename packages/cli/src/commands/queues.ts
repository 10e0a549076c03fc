import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { group, withExamples } from './examples.js';

const ACTIONS = {
  pause: {
    description:
      'Let no worker take requests of a provider. Calls under way end; new requests wait, and fall back or are refused when their wait is over.',
    done: 'No worker takes requests of',
  },
  resume: { description: 'Let workers take requests of a provider again.', done: 'Workers take requests of' },
} as const;

export function addQueueCommands(program: Command, cli: Cli): void {
  const queues = group(
    program,
    'queues',
    'The queues of requests, one per provider. "sluice status" shows them.',
    'queues pause openai',
    'queues resume openai',
  );
  for (const [action, { description, done }] of Object.entries(ACTIONS)) {
    withExamples(
      queues.command(action).description(description).argument('<provider>'),
      `queues ${action} openai`,
    ).action(async (provider: string) => {
      const place = path`/queues/${provider}/`;
      const queue = await cli.admin.send<{ paused: boolean }>('POST', place + action);
      cli.show(queue, () => `${done} ${provider}.`);
    });
  }
}
