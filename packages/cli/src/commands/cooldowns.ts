import type { CoolDown } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { count, duration } from '../output/format.js';
import { group, withExamples } from './examples.js';

export function addCoolDownCommands(program: Command, cli: Cli): void {
  const cooldowns = group(
    program,
    'cooldowns',
    'Cool-downs: providers and models that asked the gateway to wait, and are not called until then.',
    'cooldowns list',
    'cooldowns lift openai',
  );

  withExamples(
    cooldowns
      .command('list')
      .description('Show which providers and models are cooling down, and for how long.'),
    'cooldowns list',
  ).action(async () => {
    const rows = await cli.admin.list<CoolDown>('/cooldowns');
    cli.showTable(
      rows,
      [
        { title: 'PROVIDER', cell: ({ provider }) => provider },
        { title: 'MODEL', cell: ({ model }) => model ?? 'all models' },
        { title: 'TIER', cell: ({ service_tier }) => service_tier ?? 'all tiers' },
        {
          title: 'FOR',
          right: true,
          cell: ({ remaining_ms }) => (remaining_ms > 0 ? duration(remaining_ms) : 'one call at a time'),
        },
        { title: 'ASKED UNTIL', cell: ({ asked_until }) => asked_until },
      ],
      'No provider is cooling down.',
    );
  });

  withExamples(
    cooldowns
      .command('lift')
      .description('End a cool-down: workers call the provider again at once.')
      .argument('<provider>', 'name of the provider, as in gateway.yaml')
      .argument('[model]', 'only this model; default: the provider and all of its models'),
    'cooldowns lift openai',
    'cooldowns lift openai gpt-4o',
  ).action(async (provider: string, model: string | undefined) => {
    const query = model === undefined ? '' : `?model=${encodeURIComponent(model)}`;
    const result = await cli.admin.send<{ lifted: number }>('DELETE', path`/cooldowns/${provider}` + query);
    cli.show(result, () => `${count(result.lifted, 'cool-down')} lifted.`);
  });
}
