/** What must be in the package, and what must not. Returns a sentence for every mistake. */
const REQUIRED = [
  'package.json',
  'README.md',
  'LICENSE',
  'gateway.yaml',
  'packages/cli/bin/sluice.js',
  'packages/api/dist/main.js',
  'packages/admin/dist/admin.js',
  'packages/admin/src/access/lua/touch-session.lua',
  'packages/worker/dist/main.js',
  'packages/cli/dist/sluice.js',
  'packages/simulator/dist/main.js',
  'packages/shared/src/redis/lua/read-clock.lua',
  'packages/shared/data/models.json',
  'packages/shared/data/other-prices.json',
  'packages/console/dist/main.js',
  'packages/console/static/index.html',
];
const FORBIDDEN =
  /(^|\/)(\.env|\.sluice|\.git|node_modules|test|bench|src(?!.*\.lua$))(\/|$)|\.tsx?$|\.map$|\.tsbuildinfo$/;
/** A package that suddenly grows carries something that it should not. */
const MAX_BYTES = 2_000_000;

export function checkPackage(files: readonly string[], bytes: number): string[] {
  const mistakes = REQUIRED.filter((path) => !files.includes(path)).map((path) => `${path} is missing`);
  for (const path of files.filter((each) => FORBIDDEN.test(each)))
    mistakes.push(`${path} does not belong in it`);
  if (bytes > MAX_BYTES) mistakes.push(`it has ${bytes} bytes, more than ${MAX_BYTES}`);
  return mistakes;
}
