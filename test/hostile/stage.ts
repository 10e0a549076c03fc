/**
 * One attack's run: a gateway with two workspaces, `attacker` and `innocent`. The innocent one sends a little all the
 * time, and what it notices is measured, alone and under attack.
 */
import { NODE_OPTIONS } from '@sluice/shared/process/node-options';
import {
  type ChatAnswer,
  type Gateway,
  type GatewayOptions,
  startGateway,
  startRealGateway,
} from '../helpers/gateway.js';
import { limitMemory, type MemoryLimit, SHIPPED_MEMORY_BYTES, SHIPPED_NODE_OPTIONS } from './memory-limit.js';

const INNOCENT_CALLERS = 2;
const WARM_UP = 10;
const SOLO = { solo: [{ provider: 'openai', model: 'gpt-4o-mini' }] };

export interface Attack {
  name: string;
  /** What the attacker does, as a row of the table. */
  does: string;
  /** Part of `npm test`, with less of everything. */
  short?: boolean;
  gateway?: GatewayOptions;
  /** Limits of the attacker's workspace. */
  limits?: Record<string, unknown>;
  /** The processes get no more memory than the shipped manifests give them. */
  confined?: boolean;
  /** Attacks until it is done, and checks what has to hold besides the innocent one's share. */
  run(stage: Stage): Promise<void>;
}

/** What the innocent workspace noticed. */
export interface Share {
  requests: number;
  /** Requests without the answer they should have had. */
  errors: number;
  p50: number;
  p95: number;
}

export class Stage {
  readonly failures: string[] = [];
  readonly notes: string[] = [];
  readonly #limits = new Map<string, MemoryLimit>();

  private constructor(
    readonly gateway: Gateway,
    readonly isShort: boolean,
    private readonly ownProcesses: boolean,
  ) {}

  static async set(attack: Attack, isShort: boolean): Promise<Stage> {
    const limits = attack.limits ? { limits: attack.limits } : {};
    const ownProcesses = !isShort || attack.confined === true;
    // On a machine that is busy with other tests, Redis or a worker may stand still for seconds, and a call may wait for long.
    // That is nobody's attack.
    const start = isShort
      ? (options: GatewayOptions) => startGateway({ ownProcesses, ownRedis: true, ...options })
      : startRealGateway;
    const patience = isShort ? { max_wait_ms: 200_000 } : {};
    const providers = attack.gateway?.providers;
    const gateway = await start({
      routes: SOLO,
      simulator: { latencyMs: 20 },
      ...attack.gateway,
      providers: { ...providers, openai: { ...patience, ...providers?.openai } },
      ...(attack.confined ? { env: { NODE_OPTIONS: `${SHIPPED_NODE_OPTIONS} ${NODE_OPTIONS}` } } : {}),
      workspaces: {
        attacker: { routes: SOLO, ...limits },
        innocent: { routes: SOLO },
        ...attack.gateway?.workspaces,
      },
    });
    const stage = new Stage(gateway, isShort, ownProcesses);
    if (attack.confined) stage.#confine();
    return stage;
  }

  /** A claim that the attack stands or falls with. */
  check(claim: string, holds: boolean): void {
    if (!holds) this.failures.push(claim);
  }

  note(text: string): void {
    this.notes.push(text);
  }

  /** As the attacker, unless another key is given. */
  attack(
    body: unknown,
    headers: Record<string, string> = {},
    key = this.gateway.keys.attacker ?? '',
  ): Promise<ChatAnswer | undefined> {
    return this.gateway.chat(body, { key, headers }).catch(() => undefined);
  }

  ask(text: string, fields: Record<string, unknown> = {}): object {
    return { model: 'solo', messages: [{ role: 'user', content: text }], ...fields };
  }

  /** What the innocent workspace notices while `work` is done. */
  async measure(work: () => Promise<void>): Promise<Share> {
    const times: number[] = [];
    let errors = 0;
    let isOver = false;
    const caller = async () => {
      while (!isOver) {
        const started = performance.now();
        const key = this.gateway.keys.innocent ?? '';
        const answer = await this.gateway
          .chat(this.ask('an innocent question'), { key })
          .catch(() => undefined);
        // This process itself stood still while it sent the question. It asks again, as the official SDKs do.
        if (answer?.status === 400 && answer.headers.get('x-should-retry') === 'true') continue;
        if (answer?.status !== 200) {
          errors++;
          this.note(`the innocent workspace got ${answer?.status} ${JSON.stringify(answer?.body.error)}`);
        }
        times.push(performance.now() - started);
      }
    };
    const callers = Promise.all(Array.from({ length: INNOCENT_CALLERS }, caller));
    try {
      await work();
    } finally {
      isOver = true;
      await callers;
    }
    times.sort((a, b) => a - b);
    const at = (part: number) => times[Math.floor(times.length * part)] ?? 0;
    return { requests: times.length, errors, p50: at(0.5), p95: at(0.95) };
  }

  async warmUp(): Promise<void> {
    const key = this.gateway.keys.innocent ?? '';
    for (let i = 0; i < WARM_UP; i++) await this.gateway.chat(this.ask('a first question'), { key });
  }

  async close(): Promise<void> {
    const { apis, workers } = this.gateway;
    for (const { child } of this.ownProcesses ? [...apis, ...workers] : [])
      if (child.signalCode !== null) this.failures.push(`a process was ended by ${child.signalCode}`);
    for (const [role, limit] of this.#limits)
      this.note(
        `peak memory of the ${role}: ${toMiB(limit.peakBytes())} of ${toMiB(SHIPPED_MEMORY_BYTES)} MiB`,
      );
    await this.gateway.stop();
    for (const limit of this.#limits.values()) limit.remove();
  }

  #confine(): void {
    const { apis, workers } = this.gateway;
    for (const [role, process] of [['api', apis[0]] as const, ['worker', workers[0]] as const]) {
      const limit = limitMemory(process?.child.pid ?? 0);
      if (limit) this.#limits.set(role, limit);
      else this.note(`no cgroup could be made here, so the memory of the ${role} was not limited`);
    }
  }
}

function toMiB(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
