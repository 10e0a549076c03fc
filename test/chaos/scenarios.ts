import * as apiKilled from './rows/api-killed.js';
import * as hangUp from './rows/hang-up.js';
import * as redisLost from './rows/redis-lost.js';
import * as rollingRestart from './rows/rolling-restart.js';
import * as workerFrozen from './rows/worker-frozen.js';
import * as workerKilled from './rows/worker-killed.js';
import type { Scenario } from './trial.js';

export const SCENARIOS: readonly Scenario[] = [
  workerKilled.beforeCall,
  workerKilled.duringCall,
  workerKilled.afterAnswer,
  workerKilled.onCrashFail,
  workerKilled.poison,
  workerFrozen.frozen,
  workerFrozen.frozenLong,
  apiKilled.apiKilled,
  apiKilled.duplicates,
  hangUp.hangUp,
  redisLost.killed,
  redisLost.killedLong,
  redisLost.tailCut,
  redisLost.flushed,
  rollingRestart.rollingShort,
  rollingRestart.rolling,
];
