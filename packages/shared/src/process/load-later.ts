import { createRequire } from 'node:module';

/**
 * Loads a module when it is first used. Its file is looked up at once, so that a missing package still prevents the start.
 *
 * A load fails when the process has no file descriptor left, and is then tried again at the next use. An `import()` would
 * not be: Node 20 remembers its error for the rest of the process. Some of the modules are ES modules, which `require`
 * loads since Node 20.19 and 22.12.
 */
export function loadLater<Module>(name: string, from: string): () => Module {
  const require = createRequire(from);
  const file = require.resolve(name);
  return () => require(file);
}
