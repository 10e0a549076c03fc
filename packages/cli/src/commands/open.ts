import type { SignInLink } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { fromNow } from '../output/format.js';
import { withExamples } from './examples.js';

export function addOpenCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('open')
      .description(
        'Print a link that signs your browser in to the console. It works once, and for ten minutes.',
      )
      .option('-q, --quiet', 'print the link and nothing else'),
    'open',
    'open --quiet',
  ).action(async ({ quiet }: { quiet?: boolean }) => {
    const link = await cli.admin.send<SignInLink>('POST', '/sign-in-links');
    const url = cli.admin.url + link.path;
    if (quiet && !cli.json) cli.say(url);
    else
      cli.show(
        { ...link, url },
        () => `Open this link in your browser. It works once, and ends ${fromNow(link.expires_at)}:\n${url}`,
      );
  });
}
