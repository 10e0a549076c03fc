import { createCases } from './cases.js';
import { costOf } from './cost.js';

const seconds = Number(process.argv[2]);
const { cases, close } = await createCases();
for (const item of cases) process.send?.(await costOf(item, seconds, cases.length));
await close();
process.disconnect?.();
