import type { Attack } from '../stage.js';
import { unknownKeys } from './admin.js';
import { dearCalls, largeTools, unknownPrices } from './budget.js';
import { fullBacklog, sameKey } from './crowd.js';
import { announcedBodies, largeAnswers, largeBodies, largeBodiesOverLimit, slowReaders } from './large.js';
import {
  dayLongCoolDown,
  failingPrompts,
  oversizedAnswers,
  shortOfFlex,
  tooLargeForTheModel,
} from './provider.js';
import { beyondItsLimit, keptAnswers, manyParts, sameNameAgain } from './small.js';

export const ATTACKS: readonly Attack[] = [
  dearCalls,
  largeTools,
  unknownPrices,
  largeBodies,
  largeBodiesOverLimit,
  announcedBodies,
  largeAnswers,
  slowReaders,
  manyParts,
  keptAnswers,
  beyondItsLimit,
  fullBacklog,
  sameKey,
  sameNameAgain,
  tooLargeForTheModel,
  dayLongCoolDown,
  shortOfFlex,
  failingPrompts,
  oversizedAnswers,
  unknownKeys,
];
