/** Load on api and worker while V8 samples them, and what it saw as text. */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../children.js';
import { findGenerator } from '../load/find-generator.js';
import { describeMachine, machineLines } from '../machine.js';
import { measure } from '../measure.js';
import { choices, readArgs, wholeNumber } from '../options.js';
import { PROFILES } from '../paths.js';
import { duration, Progress } from '../progress.js';
import { PROMPTS } from '../prompts.js';
import { startUpstream } from '../simulator.js';
import { startSluice } from '../sluice.js';
import { WARM_UP } from '../warm-up.js';
import { type CpuProfile, type Summary, summarise } from './cpu-profile.js';
import { toTables, toText } from './profile-text.js';

const HELP = `
npm run bench -- profile [options]    where the CPU of api and worker goes; writes bench/profiles/

  --concurrency 64        callers at a time
  --prompt small          or 100kb
  --seconds 10            of load, after a warm-up
  --help

The .cpuprofile files beside the text open in Chrome's developer tools, or in speedscope, as flame graphs.
`.trim();

const SAMPLE_EVERY_US = 500;
const ROLES = ['api', 'worker'] as const;

export async function profile(args: string[]): Promise<void> {
  const values = readArgs(args, ['concurrency', 'prompt', 'seconds'], ['help']);
  if (values.help) return console.log(HELP);
  const connections = wholeNumber('concurrency', values.concurrency ?? '64');
  const [prompt = 'small'] = choices('prompt', values.prompt ?? 'small', PROMPTS);
  const seconds = wholeNumber('seconds', values.seconds ?? '10');
  const machine = describeMachine();
  const generator = findGenerator(console.error);
  const upstream = await startUpstream(0);
  const folderOf = (role: string) => scratch(`profile-${role}`);
  const sluice = await startSluice({
    upstreamUrl: upstream.url,
    execArgv: (role) => [
      '--cpu-prof',
      `--cpu-prof-dir=${folderOf(role)}`,
      `--cpu-prof-interval=${SAMPLE_EVERY_US}`,
    ],
  });
  const progress = new Progress(2, WARM_UP.seconds + seconds);
  const shot = { urls: sluice.urls, callers: [sluice.caller], prompt, connections };
  progress.step('warm-up');
  await generator.run({ ...shot, ...WARM_UP });
  progress.step('load');
  // V8's clock is the system's monotonic one, as ours: start-up and warm-up are left out.
  const from = nowUs();
  const sample = await measure(generator, { ...shot, seconds }, sluice.processes);
  const to = nowUs();
  progress.end();
  await sluice.stop();
  await upstream.stop();

  mkdirSync(PROFILES, { recursive: true });
  const intro = [
    ...machineLines(machine),
    `Load: ${generator.name}, ${connections} callers, ${prompt} prompt, ${duration(seconds)}: ${Math.round(sample.requests)} requests, ${sample.errors} errors.`,
  ];
  const sections: string[] = [];
  for (const role of ROLES) {
    const raw = join(folderOf(role), readdirSync(folderOf(role))[0] ?? '');
    const summary: Summary = summarise(JSON.parse(readFileSync(raw, 'utf8')) as CpuProfile, from, to);
    const base = join(PROFILES, `${role}-${connections}-${prompt}`);
    writeFileSync(`${base}.txt`, toText(role, intro, summary, sample.requests));
    renameAcross(raw, `${base}.cpuprofile`);
    console.log(`Written to ${base}.txt`);
    sections.push(toTables(role, summary, sample.requests));
  }
  console.log(`\n${[intro.join('\n'), ...sections].join('\n\n')}`);
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function renameAcross(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // Another file system.
    writeFileSync(to, readFileSync(from));
  }
}
