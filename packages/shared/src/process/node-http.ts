/**
 * Node's `http`. An `import` statement reads every export of a module, and since Node 22 some exports of `http` load Node's
 * own undici: 13 MB and 80 ms for each process. This way reads no export.
 */
export const http = process.getBuiltinModule('node:http');
