import { bifrost } from './bifrost.js';
import { direct } from './direct.js';
import { gomodel } from './gomodel.js';
import { litellm } from './litellm.js';
import { portkey } from './portkey.js';
import { sluice } from './sluice.js';
import type { Target } from './target.js';

export const TARGETS: readonly Target[] = [direct, sluice, portkey, litellm, bifrost, gomodel];
