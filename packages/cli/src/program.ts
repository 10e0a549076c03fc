/** The whole of `sluice`: its commands, in the order in which help shows them. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { Cli } from './cli.js';
import { addAlertCommands } from './commands/alerts.js';
import { addApplyCommand } from './commands/apply.js';
import { addAuditCommand } from './commands/audit.js';
import { addBackgroundCommands } from './commands/background.js';
import { addBatchCommands } from './commands/batches.js';
import { addBudgetCommands } from './commands/budgets.js';
import { addCheckCommand } from './commands/check.js';
import { addCompletionCommand } from './commands/completion.js';
import { addCoolDownCommands } from './commands/cooldowns.js';
import { withExamples } from './commands/examples.js';
import { addHelpCommand, explainEnvironment, explainUsage } from './commands/help.js';
import { addImportCommands } from './commands/import.js';
import { addKeyCommands } from './commands/keys.js';
import { addLimitCommands } from './commands/limits.js';
import { addModelCommands } from './commands/models.js';
import { addOpenCommand } from './commands/open.js';
import { addProcessCommands } from './commands/processes.js';
import { addProviderCommands } from './commands/providers.js';
import { addQueueCommands } from './commands/queues.js';
import { addReconcileCommand } from './commands/reconcile.js';
import { addRefusalCommand } from './commands/refusals.js';
import { addRequestCommands } from './commands/requests.js';
import { addRouteCommands } from './commands/routes.js';
import { addSessionCommands } from './commands/sessions.js';
import { addShardCommands } from './commands/shards.js';
import { addSpendCommand } from './commands/spend.js';
import { addStatusCommand } from './commands/status.js';
import { addTokenCommands } from './commands/tokens.js';
import { addWebhookCommands } from './commands/webhooks.js';
import { addWorkspaceCommands } from './commands/workspaces.js';

const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

export function createProgram(cli: Cli): Command {
  const program = new Command('sluice')
    .description('Runs a gateway, and operates a running one through its admin api.')
    .version(VERSION, '--version', 'print the version')
    .option('--json', 'print results and errors as JSON, for programs')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void cli.terminal.stdout.write(text),
      writeErr: (text) => void cli.terminal.stderr.write(text),
      outputError: (text, write) => {
        if (!cli.json) write(text.replace(/^error: /, 'sluice: '));
      },
      getOutHelpWidth: () => Math.min(cli.terminal.stdout.columns ?? 100, 120),
      getErrHelpWidth: () => 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .helpCommand(false);
  withExamples(
    program,
    'start',
    'open',
    'status',
    'keys issue demo ci',
    'requests --follow',
    'spend --by model --since 7d',
  );
  program.addHelpText(
    'after',
    `
Environment:
  ADMIN_URL         where the admin api is; default: .sluice/admin-url, which "sluice start" writes, or http://127.0.0.1:8081
  ADMIN_TOKEN       its token, or ADMIN_TOKEN_FILE, a file with it; default: .sluice/admin-token, which "sluice start" writes
  TZ                the time zone of times that are shown and written, such as Europe/Berlin; default: the machine's
  NO_COLOR          no colours

Exit status:
  0  the command was carried out
  1  it failed: the gateway refused or was not reached, a file has mistakes, or you answered no
  2  the command line is wrong: an unknown command or option, a value of the wrong form, or --yes is missing`,
  );
  addProcessCommands(program);
  addOpenCommand(program, cli);
  addWorkspaceCommands(program, cli);
  addKeyCommands(program, cli);
  addRouteCommands(program, cli);
  addLimitCommands(program, cli);
  addBudgetCommands(program, cli);
  addModelCommands(program, cli);
  addApplyCommand(program, cli);
  addCheckCommand(program, cli);
  addImportCommands(program, cli);
  addStatusCommand(program, cli);
  addProviderCommands(program, cli);
  addQueueCommands(program, cli);
  addShardCommands(program, cli);
  addCoolDownCommands(program, cli);
  addRequestCommands(program, cli);
  addRefusalCommand(program, cli);
  addSpendCommand(program, cli);
  addReconcileCommand(program, cli);
  addBatchCommands(program, cli);
  addBackgroundCommands(program, cli);
  addWebhookCommands(program, cli);
  addAlertCommands(program, cli);
  addTokenCommands(program, cli);
  addSessionCommands(program, cli);
  addAuditCommand(program, cli);
  addCompletionCommand(program, cli);
  addHelpCommand(program);
  for (const command of program.commands) explainEnvironment(command);
  // With --json the error is all that is printed.
  if (!cli.json) explainUsage(program);
  return program;
}
