/** What must be in the package, and what must not. Returns a sentence for every mistake. */
const REQUIRED = [
  'package.json',
  'README.md',
  'LICENSE',
  'gateway.yaml',
  'bin/sluice.js',
  'node_modules/@sluice/api/dist/main.js',
  'node_modules/@sluice/admin/dist/admin.js',
  'node_modules/@sluice/admin/src/access/lua/touch-session.lua',
  'node_modules/@sluice/worker/dist/main.js',
  'node_modules/@sluice/cli/dist/sluice.js',
  'node_modules/@sluice/simulator/dist/main.js',
  'node_modules/@sluice/shared/src/redis/lua/read-clock.lua',
  'node_modules/@sluice/shared/data/models.json',
  'node_modules/@sluice/shared/data/other-prices.json',
  'node_modules/@sluice/console/dist/main.js',
  'node_modules/@sluice/console/static/index.html',
];
const FORBIDDEN =
  /(^|\/)(\.env|\.sluice|\.git|test|bench|src(?!.*\.lua$))(\/|$)|\.tsx?$(?<!\.d\.ts)|\.map$|\.tsbuildinfo$/;
/** A package that suddenly grows carries something that it should not. */
const MAX_BYTES = 2_000_000;

export function checkPackage(files: readonly string[], bytes: number): string[] {
  const mistakes = REQUIRED.filter((path) => !files.includes(path)).map((path) => `${path} is missing`);
  for (const path of files.filter((each) => FORBIDDEN.test(each)))
    mistakes.push(`${path} does not belong in it`);
  if (bytes > MAX_BYTES) mistakes.push(`it has ${bytes} bytes, more than ${MAX_BYTES}`);
  return mistakes;
}
