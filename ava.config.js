/** `npm test` and `npm run test:all` choose the files and the number at a time: test/run.ts. */
import { slowestFirst } from './test/dist/suites.js';

export default {
  files: ['test/dist/**/*.test.js'],
  // This long nothing may happen at all. The slowest test takes a minute on an idle machine.
  timeout: '15m',
  concurrency: 4,
  workerThreads: false,
  require: ['./test/dist/helpers/end-with-ava.js'],
  sortTestFiles: slowestFirst,
};
