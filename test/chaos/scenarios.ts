import * as apiKilled from './rows/api-killed.js';
import * as backOff from './rows/back-off.js';
import * as clockOff from './rows/clock-off.js';
import * as clusterShards from './rows/cluster-shards.js';
import * as diskFull from './rows/disk-full.js';
import * as fallbackBacklog from './rows/fallback-backlog.js';
import * as flood from './rows/flood.js';
import * as hangUp from './rows/hang-up.js';
import * as idempotentFailures from './rows/idempotent-failures.js';
import * as noWorkers from './rows/no-workers.js';
import * as oldRedis from './rows/old-redis.js';
import * as overload from './rows/overload.js';
import * as redisBehind from './rows/redis-behind.js';
import * as redisCluster from './rows/redis-cluster.js';
import * as redisLost from './rows/redis-lost.js';
import * as redisRefuses from './rows/redis-refuses.js';
import * as redisSlow from './rows/redis-slow.js';
import * as rollingRestart from './rows/rolling-restart.js';
import * as slowProbe from './rows/slow-probe.js';
import * as socketReset from './rows/socket-reset.js';
import * as twoVersions from './rows/two-versions.js';
import * as unequalLoad from './rows/unequal-load.js';
import * as upstreamGarbage from './rows/upstream-garbage.js';
import * as upstreamHangs from './rows/upstream-hangs.js';
import * as upstreamLimits from './rows/upstream-limits.js';
import * as workerFrozen from './rows/worker-frozen.js';
import * as workerKilled from './rows/worker-killed.js';
import * as resumed from './rows/worker-killed-resumed.js';
import type { Scenario } from './trial.js';

export const SCENARIOS: readonly Scenario[] = [
  workerKilled.beforeCall,
  workerKilled.duringCall,
  workerKilled.afterAnswer,
  workerKilled.onCrashFail,
  workerKilled.poison,
  resumed.afterId,
  resumed.beforeId,
  workerFrozen.frozen,
  workerFrozen.frozenLong,
  apiKilled.apiKilled,
  apiKilled.duplicates,
  idempotentFailures.upstreamFails,
  idempotentFailures.workersDie,
  hangUp.hangUp,
  redisLost.killed,
  redisLost.killedLong,
  redisLost.tailCut,
  redisLost.flushed,
  redisRefuses.full,
  diskFull.diskFull,
  redisSlow.slow,
  redisSlow.verySlow,
  redisSlow.paused,
  redisSlow.throttled,
  redisSlow.reset,
  redisSlow.halfClosed,
  redisSlow.stranded,
  redisRefuses.replica,
  redisBehind.redisBehind,
  redisCluster.masterKilled,
  redisCluster.failover,
  redisCluster.slotMoves,
  redisCluster.cutOff,
  clusterShards.masterKilled,
  clusterShards.controlKilled,
  clusterShards.failover,
  clusterShards.slotMoves,
  clusterShards.cutOff,
  oldRedis.oldRedis,
  upstreamHangs.hangs,
  upstreamLimits.rateLimited,
  upstreamLimits.outage,
  slowProbe.slowProbe,
  backOff.backOff,
  socketReset.socketReset,
  upstreamGarbage.garbage,
  upstreamGarbage.endless,
  flood.flood,
  unequalLoad.unequalLoad,
  overload.overload,
  overload.overloadWaiting,
  fallbackBacklog.fallbackBacklog,
  noWorkers.noWorkers,
  clockOff.clockOff,
  clockOff.retryAfterDate,
  rollingRestart.rollingShort,
  rollingRestart.rolling,
  twoVersions.twoVersions,
];
