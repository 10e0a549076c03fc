import { choices, readArgs, savesToDocs, wholeNumber, wholeNumbers } from '../options.js';
import { PROMPTS, type Prompt } from '../prompts.js';
import { TARGETS } from '../targets/index.js';
import type { Target } from '../targets/target.js';
import type { Cell } from './result.js';

export interface CompareOptions {
  targets: readonly Target[];
  cells: Cell[];
  rounds: number;
  saveToDocs: boolean;
}

export const COMPARE_HELP = `
npm run bench -- [options]            gateways side by side, in one run on this machine
npm run bench -- growth --help        what more processes, waiting jobs, workspaces and requests cost
npm run bench -- micro --help         what a request pays in our own code, step by step
npm run bench -- profile --help       where the CPU of api and worker goes
npm run bench -- against --help       this checkout beside another: is a change worth it?
npm run bench -- floor --help         Sluice beside what the way of a request costs with nothing else
npm run bench -- redis-clients --help our client of Redis beside others: would another one be cheaper?

  --targets direct,sluice,portkey,litellm,bifrost,gomodel
                          default: all that are there; direct is the upstream without a gateway
  --concurrency 1,10,64,256
                          callers at a time, against an upstream that answers at once
  --prompt small,100kb
  --in-flight 2000        callers against an upstream that takes 500 ms (small prompt); 0 leaves this out
  --seconds 5             of one measurement; twice that against the slow upstream
  --rounds 3              measurements of each; the targets take turns, medians are shown
  --quick                 a look instead of a measurement: 10 and 64 callers, small prompt, 1 round of 3 s
  --save docs             put the tables into docs/performance.md
  --help

Portkey's gateway is installed from the npm registry into bench/.rivals on first use.
LiteLLM runs when "litellm" is on the PATH:
  python3 -m venv ~/litellm && ~/litellm/bin/pip install 'litellm[proxy]' && PATH=~/litellm/bin:$PATH npm run bench
Bifrost runs when "bifrost-http" (or "bifrost") is on the PATH:
  go install github.com/maximhq/bifrost/transports/bifrost-http@latest && PATH=$(go env GOPATH)/bin:$PATH npm run bench
Where that cannot be had, in transports/ of a checkout of github.com/maximhq/bifrost, without its console:
  mkdir -p bifrost-http/ui && echo > bifrost-http/ui/index.html
  for part in core framework $(cd .. && ls -d plugins/*/); do
    go mod edit -replace github.com/maximhq/bifrost/\${part%/}=../\${part%/}
  done
  GOFLAGS=-mod=mod go build -o ~/bin/bifrost-http ./bifrost-http
GoModel runs when "gomodel" is on the PATH. In a checkout of github.com/ENTERPILOT/GoModel:
  go build -o ~/bin/gomodel ./cmd/gomodel && PATH=~/bin:$PATH npm run bench
`.trim();

/** Undefined: help was asked for. */
export function readCompareOptions(args: string[]): CompareOptions | undefined {
  const texts = ['targets', 'concurrency', 'prompt', 'in-flight', 'seconds', 'rounds', 'save'] as const;
  const values = readArgs(args, texts, ['quick', 'help']);
  if (values.help) return undefined;
  const quick = values.quick ?? false;
  const concurrency = wholeNumbers('concurrency', values.concurrency ?? (quick ? '10,64' : '1,10,64,256'));
  const prompts = choices('prompt', values.prompt ?? (quick ? 'small' : PROMPTS.join()), PROMPTS);
  const inFlight = wholeNumber('in-flight', values['in-flight'] ?? (quick ? '0' : '2000'), 0);
  const seconds = wholeNumber('seconds', values.seconds ?? (quick ? '3' : '5'));
  const fast = { upstreamMs: 0, seconds, warmUpSeconds: Math.min(seconds, 3) };
  // Twice as long: its first and its last answers are a half second of nothing.
  const slow = { upstreamMs: 500, seconds: 2 * seconds, warmUpSeconds: Math.min(2 * seconds, 4) };
  return {
    targets: chooseTargets(values.targets),
    cells: [
      ...prompts.flatMap((prompt) =>
        concurrency.map((connections): Cell => ({ ...fast, prompt, connections })),
      ),
      ...(inFlight === 0 ? [] : [{ ...slow, prompt: 'small' as Prompt, connections: inFlight }]),
    ],
    rounds: wholeNumber('rounds', values.rounds ?? (quick ? '1' : '3')),
    saveToDocs: savesToDocs(values.save),
  };
}

/** A target that was asked for by name must be there; of the others, those that are. */
function chooseTargets(names: string | undefined): Target[] {
  const known = TARGETS.map(({ name }) => name);
  const chosen = names === undefined ? undefined : choices('targets', names, known);
  return TARGETS.filter((target) => {
    if (chosen && !chosen.includes(target.name)) return false;
    const missing = target.missing();
    if (missing && chosen) throw new Error(`${target.title}: ${missing}; see --help`);
    return missing === undefined;
  });
}
