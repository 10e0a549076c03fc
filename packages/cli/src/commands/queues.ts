import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { group, withExamples } from './examples.js';

const ACTIONS = {
  pause: {
    description:
      'Pause the queue of a provider: workers start no more calls to it, and end those under way. Requests wait for their turn; when their wait is over, they go to the next entry of their chain, or are refused.',
    done: 'Paused: workers start no more calls to',
  },
  resume: {
    description: 'Resume the queue of a provider: workers call it again.',
    done: 'Resumed: workers call',
  },
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
      queues
        .command(action)
        .description(description)
        .argument('<provider>', 'name of the provider, as in gateway.yaml'),
      `queues ${action} openai`,
    ).action(async (provider: string) => {
      const place = path`/queues/${provider}/`;
      const queue = await cli.admin.send<{ paused: boolean }>('POST', place + action);
      cli.show(queue, () => `${done} ${provider}.`);
    });
  }
}
