/**
 * One circuit breaker per provider, shared by all workers.
 *
 *   closed ── failures in a row ──► open ── its time is over ──► half open ── the one probe answers ──► closed
 *                                     ▲                              └─ the probe fails: open, for twice as long ─┐
 *                                     └───────────────────────────────────────────────────────────────────────────┘
 *
 * A provider is not to blame for failures that follow one prompt or one workspace. So failures count once for each
 * different request. If several workspaces have called lately, the circuit opens only when more than one of them has met
 * failures. Any success resets the count.
 *
 * Redis holds the state and its scripts make every transition, so that two workers never disagree and only one probes.
 * A process keeps a copy, fed by a channel and by `refresh`: while a provider is healthy, a call costs no round trip.
 */
import type { Redis } from 'ioredis';
import type { GatewayConfig } from '../config/gateway-config.js';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { LATELY_MS } from './callers.js';

export interface CircuitSettings {
  /** How many requests in a row have to fail to open the circuit. 0: it never opens. */
  failures: number;
  openMs: number;
}

/** Provider → settings. */
export type AllCircuitSettings = Pick<ReadonlyMap<string, CircuitSettings>, 'get' | 'keys'>;

/** Reads the configuration at each question, since it may change. */
export function circuitSettings({ providers }: Pick<GatewayConfig, 'providers'>): AllCircuitSettings {
  return {
    keys: () => providers.keys(),
    get(name) {
      const provider = providers.get(name);
      return provider && { failures: provider.circuitFailures, openMs: provider.circuitOpenMs };
    },
  };
}

const MAX_OPEN_MS = 60_000;

export type CircuitState = 'closed' | 'failing' | 'open';

export interface Circuit {
  state: CircuitState;
  /** When an open circuit lets a probe through. Redis time. */
  until: number;
}

export interface FailedCall {
  requestId: string;
  workspace: string;
  /** Two failures of the same subject count once. */
  subject: string;
  /** The failure would have hit any workspace, such as a refused key. */
  meetsAll: boolean;
}

/** A change of state that this process has made. */
export interface CircuitChange {
  provider: string;
  state: CircuitState;
}

const failScript = loadScript<
  '' | 'failing' | 'open',
  { key: string; channel: string; callersKey: string; clockKey: string },
  {
    provider: string;
    requestId: string;
    threshold: number;
    openMs: number;
    workspace: string;
    subject: string;
    meetsAll: 0 | 1;
  }
>(import.meta.url, 'circuit-fail', { MAX_OPEN_MS, LATELY_MS });
const succeedScript = loadScript<0 | 1, { key: string; channel: string }, { provider: string }>(
  import.meta.url,
  'circuit-succeed',
);
const probeScript = loadScript<
  0 | 1,
  { key: string; clockKey: string },
  { requestId: string; probeMs: number }
>(import.meta.url, 'circuit-probe');
const releaseScript = loadScript<number, { key: string }, { requestId: string }>(
  import.meta.url,
  'circuit-release',
);

export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  /** The providers whose change was heard while `refresh` waited. The answer to `refresh` may be older. */
  readonly #changed = new Set<string>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
    private readonly settings: AllCircuitSettings,
  ) {}

  /** `subscriber` is a connection in subscriber mode; its owner closes it. */
  async watch(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel, message) => {
      if (channel !== this.names.circuits) return;
      const [provider, state, until] = JSON.parse(message) as [string, CircuitState, number];
      this.#circuits.set(provider, { state, until });
      this.#changed.add(provider);
    });
    // Messages were lost with the connection before.
    subscriber.on('ready', () => void this.refresh().catch(() => {}));
    await subscriber.subscribe(this.names.circuits);
    await this.refresh();
  }

  async refresh(): Promise<void> {
    this.#changed.clear();
    await Promise.all(
      [...this.settings.keys()].map(async (provider) => {
        const [state, until, failures] = await this.redis.hmget(
          this.names.circuit(provider),
          'state',
          'until',
          'failures',
        );
        if (this.#changed.has(provider)) return;
        if (state === 'open') this.#circuits.set(provider, { state, until: Number(until) });
        else this.#circuits.set(provider, { state: failures ? 'failing' : 'closed', until: 0 });
      }),
    );
  }

  get(provider: string): Circuit {
    return this.#circuits.get(provider) ?? { state: 'closed', until: 0 };
  }

  /** Milliseconds until an open circuit lets a probe through; 0 when it is not open, or lets one through now. */
  remaining(provider: string): number {
    const { state, until } = this.get(provider);
    const leftMs = until - this.clock.now();
    // A circuit that would be open for longer was opened by a clock that was far ahead.
    const longestMs = Math.max(MAX_OPEN_MS, this.settings.get(provider)?.openMs ?? 0);
    return state === 'open' && leftMs <= longestMs ? Math.max(0, leftMs) : 0;
  }

  /**
   * Whether this call may be made. A closed circuit lets it through. An open circuit whose time is over lets one call through
   * as the probe. The probe's place is kept for as long as the call may take. The place belongs to the request: when the
   * worker dies, the request is run again and probes again.
   */
  async mayCall(provider: string, requestId: string, probeMs: number): Promise<boolean> {
    if (this.get(provider).state !== 'open') return true;
    const keys = { key: this.names.circuit(provider), clockKey: this.names.clock };
    return (await probeScript(this.redis, keys, { requestId, probeMs: Math.ceil(probeMs) })) === 1;
  }

  /** The call ended without saying anything about the provider. If it was the probe, the next call becomes the probe. */
  async release(provider: string, requestId: string): Promise<void> {
    if (this.get(provider).state !== 'open') return;
    await releaseScript(this.redis, { key: this.names.circuit(provider) }, { requestId });
  }

  /** Whether a success would change nothing. */
  isClosed(provider: string): boolean {
    return this.get(provider).state === 'closed';
  }

  /** `succeeded` and `failed` return the change of state, if there was one. */
  async succeeded(provider: string): Promise<CircuitChange | undefined> {
    const keys = { key: this.names.circuit(provider), channel: this.names.circuits };
    const closed = await succeedScript(this.redis, keys, { provider });
    return closed ? { provider, state: 'closed' } : undefined;
  }

  async failed(provider: string, call: FailedCall): Promise<CircuitChange | undefined> {
    const settings = this.settings.get(provider);
    if (!settings || settings.failures === 0) return undefined;
    const state = await failScript(
      this.redis,
      {
        key: this.names.circuit(provider),
        channel: this.names.circuits,
        callersKey: this.names.callers(provider),
        clockKey: this.names.clock,
      },
      {
        provider,
        requestId: call.requestId,
        threshold: settings.failures,
        openMs: settings.openMs,
        workspace: call.workspace,
        subject: call.subject,
        meetsAll: call.meetsAll ? 1 : 0,
      },
    );
    return state === '' ? undefined : { provider, state };
  }
}
