import type { Attack } from '../stage.js';
import { dearCalls, largeTools, unknownPrices } from './budget.js';
import { largeAnswers, largeBodies } from './large.js';
import { failingPrompts, oversizedAnswers, tooLargeForTheModel } from './provider.js';
import { beyondItsLimit, keptAnswers, manyParts } from './small.js';

export const ATTACKS: readonly Attack[] = [
  dearCalls,
  largeTools,
  unknownPrices,
  largeBodies,
  largeAnswers,
  manyParts,
  keptAnswers,
  beyondItsLimit,
  tooLargeForTheModel,
  failingPrompts,
  oversizedAnswers,
];
