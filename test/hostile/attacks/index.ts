import type { Attack } from '../stage.js';
import { largeAnswers, largeBodies } from './large.js';

export const ATTACKS: readonly Attack[] = [largeBodies, largeAnswers];
