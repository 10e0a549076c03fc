/**
 * A Redis Cluster, as a cell uses it. All keys of a cell have one hash tag, so one slot has them all, and one master has that
 * slot. A connection goes to this master like to any other Redis, and so scripts, blocking commands and channels work as they
 * do there. When the slot moves, or the master fails, Redis refuses the next command (`MOVED`), and the connection looks for
 * the slot again.
 */
import { connect as connectByTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectByTls, type TLSSocket } from 'node:tls';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';

export interface ClusterAddress {
  /** Nodes that are asked where the slot is. */
  nodes: readonly Node[];
  /** The hash tag of the keys that the connection is for: the name of the cell, or of one of its shards. */
  cell: string;
  options: RedisOptions;
}

interface Node {
  host: string;
  port: number;
}

const ADDRESS = /^(rediss?)\+cluster:\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/?(?:#(.+))?$/;
const PORT = 6379;
const ASK_MS = 5_000;
const LONGEST_PAUSE_MS = 1_000;

export function isCluster(url: string): boolean {
  return ADDRESS.test(url);
}

/** The address with the name of the cell, or of a shard, which says in which slot it is. Only the address of a Cluster needs it. */
export function withCell(url: string, cell: string): string {
  return isCluster(url) ? `${url.replace(/#.*/, '')}#${cell}` : url;
}

/** Reads `redis+cluster://user:password@a:6379,b:6379#cell`. Returns undefined for an address of another kind. */
export function readClusterAddress(url: string): ClusterAddress | undefined {
  if (!/^rediss?\+cluster:/.test(url)) return undefined;
  const [, protocol, credentials = '', hosts = '', cell] = ADDRESS.exec(url) ?? [];
  const nodes = hosts.split(',').map(toNode);
  if (nodes.includes(undefined))
    throw new Error('REDIS_URL names no Cluster; it is written redis+cluster://<host:port>,<host:port>');
  if (cell === undefined) throw new Error('the address of a Cluster has no cell');
  const [username = '', password = ''] = credentials.split(':').map(decodeURIComponent);
  return {
    nodes: nodes as Node[],
    cell,
    options: {
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(protocol === 'rediss' ? { tls: {} } : {}),
    },
  };
}

function toNode(text: string): Node | undefined {
  if (!URL.canParse(`redis://${text}`)) return undefined;
  const { hostname, port } = new URL(`redis://${text}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return host === '' ? undefined : { host, port: port === '' ? PORT : Number(port) };
}

/** The guards of the connections that go to a Cluster. */
const guards = new WeakMap<Redis, string>();

/**
 * A key that never exists, for the scripts of a connection to a Cluster. While a slot moves key by key, a script would find
 * some keys and not the others. Redis refuses a script before it runs when one of its keys is missing in such a slot
 * (`TRYAGAIN`, `ASK`). So with this key nothing runs on half of a cell, and everything waits until the slot has moved.
 */
export function guardOf(redis: Redis): string | undefined {
  return guards.get(redis);
}

export function connectToCluster(address: ClusterAddress, options: RedisOptions): Redis {
  const { nodes, cell, options: own } = address;
  class SlotConnector extends AbstractConnector {
    /** The nodes that a master has told of. The ones of the address may be gone some day. */
    #known = nodes;

    constructor(readonly options: RedisOptions) {
      super(options.disconnectTimeout ?? ASK_MS);
    }

    /** ioredis gives a connection up for good when this fails. So it looks until somebody disconnects. */
    override async connect(emit: (type: string, error: Error) => void): Promise<Socket | TLSSocket> {
      this.connecting = true;
      for (let tries = 1; ; tries++) {
        const found = await this.#findMaster(emit);
        if (!this.connecting) throw new Error('Connection is closed.');
        if (found) return this.#open(found);
        await new Promise((resolve) => setTimeout(resolve, Math.min(50 * tries, LONGEST_PAUSE_MS)));
      }
    }

    async #findMaster(emit: (type: string, error: Error) => void): Promise<Node | undefined> {
      for (const node of [...this.#known, ...nodes]) {
        try {
          const { master, others } = await askForSlot(node, cell, this.options);
          this.#known = [master, ...others];
          return master;
        } catch (error) {
          emit('error', error instanceof Error ? error : new Error(String(error)));
          if (!this.connecting) return undefined;
        }
      }
      return undefined;
    }

    #open({ host, port }: Node): Socket | TLSSocket {
      const { tls } = this.options;
      this.stream = tls
        ? connectByTls({ ...(tls as ConnectionOptions), host, port })
        : connectByTcp({ host, port });
      this.stream.once('error', (error) => {
        this.firstError = error;
      });
      return this.stream;
    }
  }
  const redis = new Redis({
    ...options,
    ...own,
    Connector: SlotConnector as unknown as NonNullable<RedisOptions['Connector']>,
  });
  guards.set(redis, `{${cell}}:queue:`);
  return redis;
}

/** A range of slots with its nodes, the master first. A node that does not know its own host names none. */
type Range = [first: number, last: number, ...nodes: [host: string | null, port: number][]];

/** Asks a node which nodes have the cell. Throws when it is none of a Cluster that works. */
async function askForSlot(node: Node, cell: string, options: RedisOptions) {
  const { username, password, tls } = options;
  const asked = new Redis({
    ...node,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls } : {}),
    lazyConnect: true,
    connectTimeout: ASK_MS,
    socketTimeout: ASK_MS,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: () => null,
  });
  let failure: Error | undefined;
  asked.on('error', (error) => {
    failure = error;
  });
  try {
    await asked.connect().catch((error) => {
      throw failure ?? error;
    });
    const [slot, info, ranges] = await Promise.all([
      asked.cluster('KEYSLOT', `{${cell}}`),
      asked.cluster('INFO') as Promise<string>,
      asked.cluster('SLOTS') as Promise<unknown>,
    ]);
    // A node that cannot reach most of the others may know an old master.
    const [, , ...found] = (ranges as Range[]).find(([first, last]) => first <= slot && slot <= last) ?? [];
    const [master, ...others] = found.map(([host, port]) => ({ host: host || node.host, port }));
    if (!master || !/cluster_state:ok/.test(info)) throw new Error('CLUSTERDOWN The Cluster does not serve');
    return { master, others };
  } finally {
    asked.disconnect();
  }
}
