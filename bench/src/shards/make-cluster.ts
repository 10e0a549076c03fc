/** A Redis Cluster of servers that run already, as `redis-cli --cluster create` makes one. */
import type { Redis } from 'ioredis';

const SLOTS = 16_384;
const LOOK_EVERY_MS = 50;

export interface Node {
  redis: Redis;
  host: string;
  port: number;
}

/** The nodes talk at this port. The one that Redis chooses by itself may be taken by any outgoing connection. */
const busPort = (port: number) => port + 1;

/** Options of a redis-server that is to be a node. */
export function nodeOptions(port: number): string[] {
  return ['--cluster-enabled', 'yes', '--cluster-port', String(busPort(port))];
}

/** The first `masters` of the nodes get the slots, each as many. The others are empty. */
export async function makeCluster(nodes: readonly Node[], masters = nodes.length): Promise<void> {
  for (const [i, { redis }] of nodes.slice(0, masters).entries()) {
    const first = Math.ceil((i * SLOTS) / masters);
    await redis.cluster('ADDSLOTSRANGE', first, Math.ceil(((i + 1) * SLOTS) / masters) - 1);
    // Two nodes with one epoch would have to agree first.
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const { host, port } of nodes.slice(1))
    await nodes[0]?.redis.call('CLUSTER', 'MEET', host, port, busPort(port));
  while (!(await doAllKnow(nodes))) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
}

async function doAllKnow(nodes: readonly Node[]): Promise<boolean> {
  const infos = await Promise.all(nodes.map(({ redis }) => redis.cluster('INFO') as Promise<string>));
  return infos.every(
    (info) => info.includes('cluster_state:ok') && info.includes(`known_nodes:${nodes.length}`),
  );
}
