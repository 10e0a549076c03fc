/**
 * What the admin api answers: the api writes these, the console and the `sluice` command read them. There are only types
 * here, so that the console, which runs in a browser, takes nothing along.
 */
export type * from './contract/all.js';
