/** Builds the parts of a worker process from its configuration and its connections. Nothing runs yet. */
import { assembleCommon, type WorkerOptions } from './assemble-common.js';
import { assembleShard } from './assemble-shard.js';
import type { Connections } from './connect.js';

export type { WorkerOptions };

export type WorkerParts = ReturnType<typeof assemble>;

export function assemble(options: WorkerOptions, connections: Connections) {
  const common = assembleCommon(options, connections);
  const shards = [...connections.shards].map(([id, redis]) => assembleShard(id, redis, options, common));
  return { ...common, shards };
}
