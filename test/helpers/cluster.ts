/** A Redis Cluster of three masters with a replica each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCluster, type Node, nodeOptions } from '@sluice/bench/shards/make-cluster';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { ownPort } from './own-port.js';
import { startTestRedis } from './test-redis.js';
import { until } from './until.js';

const MASTERS = 3;
const KEYS_AT_ONCE = 10;

/** How long a node may be silent before its replica takes over. A machine may stop for seconds. */
const NODE_TIMEOUT_MS = 15_000;

export interface Cluster {
  /** For REDIS_URL. */
  url: string;
  nodes: ClusterNode[];
  /** The node that has a cell now. */
  masterOf(cell: string): Promise<ClusterNode>;
  replicasOf(master: ClusterNode): Promise<ClusterNode[]>;
  /** Gives the slot of a cell to another master, key by key, as `redis-cli --cluster reshard` does. */
  moveCell(cell: string, pauseMs?: number): Promise<void>;
  beginMove(cell: string): Promise<Move>;
  stop(): Promise<void>;
}

/** A slot on its way to another master. */
export interface Move {
  /** These keys are on the other master now. */
  take(keys: readonly string[]): Promise<void>;
  /** Takes the rest, and the slot is the other master's. */
  finish(pauseMs?: number): Promise<void>;
}

export interface ClusterNode extends Node {
  server: RedisServer;
  id: string;
}

export async function startCluster({ nodeTimeoutMs = NODE_TIMEOUT_MS } = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
  const start = async (_: unknown, i: number): Promise<ClusterNode> => {
    const port = await ownPort();
    const server = await startTestRedis({
      folder: join(folder, String(i)),
      port,
      extra: [...nodeOptions(port), '--cluster-node-timeout', String(nodeTimeoutMs)],
    });
    const redis = connectPatiently(server.url);
    const { hostname: host } = new URL(server.url);
    return { server, redis, id: String(await redis.cluster('MYID')), host, port };
  };
  const started = await Promise.allSettled(Array.from({ length: 2 * MASTERS }, start));
  const nodes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = started.find((each) => each.status === 'rejected');
  if (failed) {
    await stopNodes(nodes, folder);
    throw failed.reason;
  }
  const masters = nodes.slice(0, MASTERS);
  await makeCluster(nodes, MASTERS);
  for (const [i, { redis }] of nodes.slice(MASTERS).entries())
    await redis.cluster('REPLICATE', masters[i % MASTERS]?.id ?? '');
  await until('the replicas to follow', async () => {
    const copies = await Promise.all(nodes.slice(MASTERS).map(({ redis }) => redis.info('replication')));
    return copies.every((info) => info.includes('master_link_status:up'));
  });

  const masterOf = async (cell: string) => {
    for (const { redis } of nodes) {
      if (redis.status !== 'ready') continue;
      const slot = await redis.cluster('KEYSLOT', `{${cell}}`);
      const ranges = await redis.cluster('SLOTS');
      const [, , master] = ranges.find(([first, last]) => first <= slot && slot <= last) ?? [];
      const found = nodes.find(({ id }) => id === master?.[2]);
      if (found) return found;
    }
    throw new Error('no node knows the master');
  };
  const beginMove = async (cell: string): Promise<Move> => {
    const from = await masterOf(cell);
    const to = masters.find(({ id, redis }) => id !== from.id && redis.status === 'ready');
    if (!to) throw new Error('no other master');
    const slot = await from.redis.cluster('KEYSLOT', `{${cell}}`);
    await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id);
    await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id);
    const take = async (keys: readonly string[]) => {
      await from.redis.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
    };
    return {
      take,
      async finish(pauseMs = 0) {
        for (;;) {
          const keys = await from.redis.cluster('GETKEYSINSLOT', slot, KEYS_AT_ONCE);
          if (keys.length === 0) break;
          await take(keys);
          if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
        for (const { redis } of [to, from]) await redis.cluster('SETSLOT', slot, 'NODE', to.id);
      },
    };
  };
  return {
    url: `redis+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`,
    nodes,
    masterOf,
    async replicasOf({ redis, id }) {
      const lines = (await redis.cluster('SLAVES', id)) as unknown as string[];
      return nodes.filter((node) => lines.some((line) => line.startsWith(node.id)));
    },
    beginMove,
    moveCell: async (cell, pauseMs) => (await beginMove(cell)).finish(pauseMs),
    stop: () => stopNodes(nodes, folder),
  };
}

async function stopNodes(nodes: readonly ClusterNode[], folder: string): Promise<void> {
  for (const { redis } of nodes) redis.disconnect();
  await Promise.all(nodes.map(({ server }) => server.stop('SIGKILL').catch(() => {})));
  rmSync(folder, { recursive: true, force: true });
}
