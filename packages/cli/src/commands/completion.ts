/** `sluice completion`: a script that completes commands and options in a shell. It is made of the commands themselves. */
import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.js';
import { withExamples } from './examples.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What can follow a command: `at` is ` keys issue`, and '' for sluice itself. */
interface Step {
  at: string;
  words: string[];
  /** A command that only holds others takes no names of files. */
  hasSubcommands: boolean;
}

export function addCompletionCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('completion')
      .description('Print a script that completes commands and options in a shell.')
      .addArgument(new Argument('<shell>', 'the shell that you use').choices(SHELLS))
      .addHelpText(
        'after',
        `
Put one of these lines into the file that your shell reads at its start:
  bash  source <(sluice completion bash)
  zsh   source <(sluice completion zsh)   (after compinit)
  fish  sluice completion fish | source`,
      ),
    'completion bash > /etc/bash_completion.d/sluice',
  ).action((shell: Shell) => cli.say(SCRIPTS[shell](stepsOf(program, ''))));
}

function stepsOf(command: Command, at: string): Step[] {
  const subcommands = command.commands.filter((each) => each.name() !== 'help' || at === '');
  const options = command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);
  const choices = command.registeredArguments[0]?.argChoices ?? [];
  const global = at === '' ? [] : ['--json'];
  const words = [...subcommands.map((each) => each.name()), ...choices, ...options, ...global, '--help'];
  return [
    { at, words: [...new Set(words)], hasSubcommands: subcommands.length > 0 },
    ...subcommands.flatMap((each) => stepsOf(each, `${at} ${each.name()}`)),
  ];
}

/** The cases of a shell's `case`, by which a word that is a command leads to the next step. */
function known(steps: readonly Step[]): string {
  return steps
    .filter(({ at }) => at !== '')
    .map(({ at }) => `"${at}"`)
    .join('|');
}

const SCRIPTS: Readonly<Record<Shell, (steps: Step[]) => string>> = {
  bash: (steps) => `_sluice() {
  local at= word words= current=\${COMP_WORDS[COMP_CWORD]}
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${known(steps)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${steps.map(({ at, words }) => `    "${at}") words="${words.join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sluice sluice`,

  // "path" is no name for a variable in zsh: it is PATH.
  zsh: (steps) => `#compdef sluice
_sluice() {
  local at= word
  for word in \${words[2,CURRENT-1]}; do
    case "$at $word" in
      ${known(steps)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${steps.map(({ at, words, hasSubcommands }) => `    "${at}") compadd -- ${words.join(' ')}${hasSubcommands ? '; return' : ''} ;;`).join('\n')}
  esac
  _files
}
# zsh runs the file itself when it was put into a folder of fpath.
if [[ $funcstack[1] = _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi`,

  fish: (steps) => `function __sluice_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${known(steps).replaceAll('|', ' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${steps.map(({ at, words, hasSubcommands }) => `complete -c sluice ${hasSubcommands ? '-f ' : ''}-n "__sluice_at '${at}'" -a "${words.join(' ')}"`).join('\n')}`,
};
