/**
 * `npm run front`: Caddy and oauth2-proxy in front of a real gateway, with the files of deploy/caddy and
 * deploy/oauth2-proxy. Exits with 1 when something does not hold, and with 2 when one of the programs is not here.
 */
import { parseArgs } from 'node:util';
import { launchBrowser } from '../helpers/browser.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { CHROMIUM, findMissing } from '../helpers/tools.js';
import { CADDY, OAUTH2_PROXY, validateCaddyfile } from './programs.js';
import { setStage } from './stage.js';
import { tryCaddy, tryOauth2Proxy } from './try-everything.js';

const HELP = `npm run front -- [options]

  --wait <n>      seconds until the slow call is answered (100)
  --save docs     write what held to docs/production.md, if all held
  --help          this text

It needs the programs caddy, oauth2-proxy and chromium on the PATH.
`;

const { values } = parseArgs({
  options: {
    wait: { type: 'string', default: '100' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const missing = findMissing([CADDY, OAUTH2_PROXY, CHROMIUM]);
if (values.help) {
  process.stdout.write(HELP);
} else if (missing.length > 0) {
  for (const { name, elsewhere } of missing)
    process.stderr.write(`npm run front cannot run here: there is no ${name}; ${elsewhere}.\n`);
  process.exitCode = 2;
} else {
  process.exitCode = (await tryAll(Number(values.wait) * 1000)) ? 0 : 1;
}

async function tryAll(slowMs: number): Promise<boolean> {
  const save = figuresSaver('front', values.save);
  const tried = new Map<string, string[]>();
  let failures = 0;
  const tell = (front: string) => (what: string, seen: string, holds: boolean) => {
    process.stdout.write(`${holds ? 'held  ' : 'FAILED'} ${front}: ${what}: ${seen}\n`);
    tried.set(front, [...(tried.get(front) ?? []), what]);
    if (!holds) failures += 1;
  };
  const { ok, text } = validateCaddyfile();
  tell('Caddy')('`caddy validate`', ok ? 'valid' : text, ok);
  const stage = await setStage('gpt-slow', slowMs);
  const browser = await launchBrowser();
  try {
    await tryCaddy(stage, slowMs, tell('Caddy'));
    await tryOauth2Proxy(stage, browser, tell('oauth2-proxy'));
  } catch (error) {
    failures += 1;
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
  if (failures > 0) process.stderr.write(`${stage.logs().slice(-4000)}\n`);
  else save?.([...tried].map(([front, all]) => `- ${front}: ${all.length} checks held`).join('\n'));
  await browser.close();
  await stage.close();
  process.stdout.write(failures === 0 ? '\nAll held.\n' : `\n${failures} failed.\n`);
  return failures === 0;
}
