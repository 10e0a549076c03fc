/** The words that the contract is written in. */
export type { Infer } from 'superstruct';
export * from './leaves.js';
export * from './maps.js';
export * from './shape.js';
