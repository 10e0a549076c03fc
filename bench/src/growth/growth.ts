import { findGenerator } from '../load/find-generator.js';
import { describeMachine, machineLines } from '../machine.js';
import { duration } from '../progress.js';
import { saveResult, saveToDocs } from '../save.js';
import { studyBacklog } from './backlog.js';
import { studyDirectory } from './directory.js';
import { studyEndurance } from './endurance.js';
import { studyFeatures } from './features.js';
import { studyInFlight } from './in-flight.js';
import { GROWTH_HELP, readGrowthOptions } from './options.js';
import { studyProcesses } from './processes.js';
import { studySizes } from './sizes.js';
import type { StudyResult } from './study.js';

const RUN = {
  processes: studyProcesses,
  backlog: studyBacklog,
  directory: studyDirectory,
  'in-flight': studyInFlight,
  features: studyFeatures,
  sizes: studySizes,
  endurance: studyEndurance,
};

export async function growth(args: string[]): Promise<void> {
  const options = readGrowthOptions(args);
  if (!options) return console.log(GROWTH_HELP);
  const machine = describeMachine();
  const generator = findGenerator(console.error);
  const results: StudyResult[] = [];
  for (const study of options.studies) results.push(await RUN[study](options, generator));
  const { connections, seconds, rounds } = options;
  const how = `Load: ${generator.name}, ${connections} callers, small prompt; ${rounds} rounds of ${duration(seconds)}, medians.`;
  const page = [[...machineLines(machine), how].join('\n'), ...results.map(({ page }) => page)].join('\n\n');
  console.log(page);
  const studies = Object.fromEntries(results.map(({ name, data }) => [name, data]));
  console.log(`\nWritten to ${saveResult('growth', { machine, options, studies }, page)}`);
  if (options.saveToDocs) saveToDocs('growth', page);
}
