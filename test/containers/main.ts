/**
 * `npm run containers`: the compose file in a real container engine, from the first `up` to `down` with requests in
 * flight. Exits with 1 when something does not hold, and with 2 when this machine has no engine.
 */
import { parseArgs } from 'node:util';
import { figureList } from '../helpers/figure-list.js';
import { ownPort } from '../helpers/own-port.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { Stack, whatIsMissing } from './stack.js';
import { tryEverything } from './try-everything.js';

const HELP = `npm run containers -- [options]

  --save docs     write what was seen to docs/reliability.md, if all held
  --help          this text

Builds the image and runs docker-compose.yml in the container engine of this machine, under a project name and ports of
its own. It takes about five minutes. A service whose image is neither here nor to be pulled is left out by name.
`;

/** What the documentation leaves out, because other rows say as much. */
const UNSAVED = ['a second `up`', '`examples/compose.yml`', '`WORKERS=3`', 'Prometheus', 'PostgreSQL'];

const { values } = parseArgs({ options: { save: { type: 'string' }, help: { type: 'boolean' } } });
const missing = values.help ? undefined : whatIsMissing();
if (values.help) {
  process.stdout.write(HELP);
} else if (missing) {
  process.stderr.write(`npm run containers cannot run here: ${missing}. Nothing was tried.\n`);
  process.exitCode = 2;
} else {
  const save = figuresSaver('containers', values.save);
  const stack = new Stack({
    PORT: await ownPort(),
    TLS_PORT: await ownPort(),
    ADMIN_PORT: await ownPort(),
    PROMETHEUS_PORT: await ownPort(),
    ALERTMANAGER_PORT: await ownPort(),
    ALERTS_PORT: await ownPort(),
    GRAFANA_PORT: await ownPort(),
  });
  const rows: [what: string, seen: string][] = [];
  let failures = 0;
  try {
    await tryEverything(stack, (what, seen, holds) => {
      process.stdout.write(`${holds ? 'held  ' : 'FAILED'} ${what}: ${seen}\n`);
      rows.push([what, seen]);
      if (!holds) failures += 1;
    });
  } catch (error) {
    failures += 1;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
  if (failures > 0) process.stderr.write(`The containers' logs are in ${stack.saveLogs()}\n`);
  else save?.(figureList(rows, UNSAVED));
  stack.remove();
  process.stdout.write(failures === 0 ? '\nAll held.\n' : `\n${failures} failed.\n`);
  process.exitCode = failures === 0 ? 0 : 1;
}
