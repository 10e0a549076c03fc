/**
 * Moves a workspace to another shard, without a failed call (docs/adr/0046-moving-a-workspace.md):
 *
 *   mark ─► callers wait in the apis ─► close the first shard ─► what runs there ends ─► copy ─► switch ─► clean up
 *     └────────────── it takes too long: open the shard, remove the mark ──┘
 *
 * The record of the workspace says how far the move is. Every step may be repeated, by any process: when this one dies, another
 * one takes over after some seconds with a higher number, and each shard refuses the lower one (fenced.ts).
 */
import { BatchLeases } from '@sluice/api/batches/batch-lease';
import { TRUSTED_MS } from '@sluice/api/cell/directory-cache';
import type { Directory, WorkspaceMove, WorkspaceRecord } from '@sluice/shared/directory/directory';
import { eraseState } from '@sluice/shared/directory/erase';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import type { Presence } from '@sluice/shared/process/presence';
import type { HandedPart } from '@sluice/shared/queue/provider-batches';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import type { AdminShard } from '../shards.js';
import { type CopiedAnswers, copyAnswersAhead, copyBelongings, dropBelongings } from './belongings.js';
import { FencedShard, Superseded } from './fenced.js';
import { bringLedger, dropLog } from './retire-shard.js';
import { UnderWay } from './under-way.js';

export const RESUME_EVERY_MS = 2_000;
/** By then every api process that is at work knows of the move, or asks Redis before it serves anybody. */
const HEARD_MS = TRUSTED_MS + 300;
const LOOK_EVERY_MS = 100;
const LEASE_MS = 8_000;
const RENEW_EVERY_MS = 2_000;
const ASK_FOR_LEASE_EVERY_MS = 250;
/** Providers give their batches a day. */
const MOST_AT_PROVIDER_MS = 24 * 3_600_000;
/** The lease of a batch has this in it while its workspace moves. */
const BATCH_TOKEN = 'moving';
export const STANDARD_WAIT_MS = 20_000;

export type MoverShard = Pick<AdminShard, 'id' | 'redis' | 'names' | 'queue' | 'webhooks'>;

export interface MoverParts {
  /** Of the control keys. */
  redis: Redis;
  names: ControlNames;
  directory: Directory;
  shards: readonly MoverShard[];
  providers: ReadonlyMap<string, unknown>;
  presence: Pick<Presence, 'alive'>;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  /** Before each step, for tests. */
  onStep?(step: MoveStep): Promise<void>;
}

export type MoveStep = 'heard' | 'closed' | 'drained' | 'copied' | 'opened' | 'switched' | 'cleaned';

export interface Moved {
  from: number;
  to: number;
  /** For how long callers waited, in ms. */
  heldMs: number;
}

export class Mover {
  /** The directory's version when no workspace was moving. */
  #quietAt: string | undefined;

  constructor(private readonly parts: MoverParts) {}

  /** Undefined: it was there already. Throws `conflict` when it cannot move now, and then it is where it was. */
  async move(id: string, to: number, waitMs: number): Promise<Moved | undefined> {
    const { directory, shards } = this.parts;
    if (!shards[to])
      throw new GatewayError('invalid_request', `The gateway has no shard ${to}.`, { param: 'shard' });
    const moving = this.#lead(id, LEASE_MS * 2, async () => {
      const workspace = await directory.findWorkspace(id);
      if (!workspace) throw noWorkspace();
      if (workspace.move) await this.#finish(workspace, waitMs);
      const now = workspace.move ? await directory.findWorkspace(id) : workspace;
      if (!now) throw noWorkspace();
      const from = now.shard ?? FIRST_SHARD;
      if (from === to) return workspace.move ? { from: workspace.move.from, to, heldMs: 0 } : undefined;
      await this.#requireReady(id, from, to);
      return this.#begin(now, from, to, waitMs);
    });
    return moving.catch((error) => {
      if (error instanceof Superseded)
        throw new GatewayError('conflict', 'Another process moves the workspace.', { retryAfterMs: 1_000 });
      throw error;
    });
  }

  /** Brings what is left in a shard without workspaces to the first one, except for its log, which is removed. */
  async retire(shard: number): Promise<void> {
    const { clock } = this.parts;
    if (shard === FIRST_SHARD)
      throw new GatewayError('conflict', 'Shard 0 has what all shards share. A gateway needs it.');
    await this.#lead(`/${shard}`, 0, async () => {
      const given = this.#shard(shard);
      await this.#requireEmpty(given);
      await bringLedger(given, this.#shard(FIRST_SHARD), this.parts.names, clock.now());
      await dropLog(given, clock.now());
    });
  }

  async #requireEmpty({ id, redis, names, queue }: MoverShard): Promise<void> {
    const { directory, providers } = this.parts;
    const workspaces = (await directory.listWorkspaces()).filter(
      ({ shard = FIRST_SHARD, move }) => shard === id || move?.from === id || move?.to === id,
    );
    const refuse = (what: string) => {
      throw new GatewayError('conflict', `Shard ${id} ${what}.`);
    };
    if (workspaces.length > 0) refuse(`has ${count(workspaces, 'workspace')}, such as ${workspaces[0]?.id}`);
    if (!(await directory.closedShards()).has(id)) refuse('may get new workspaces. Close it first');
    const underWay = [
      (await queue.listJobs([...providers.keys()])).length,
      await redis.zcard(names.providerBatches),
      await redis.zcard(names.activeBatches),
      await redis.hlen(names.refusals),
    ];
    if (underWay.some((each) => each > 0)) refuse('still ends what was begun there. Try again in a minute');
  }

  /** Goes on with moves whose process has died. */
  async resume(): Promise<void> {
    const { directory, logger } = this.parts;
    const version = await directory.version();
    if (version === this.#quietAt) return;
    const moving = (await directory.listWorkspaces()).filter(({ move }) => move !== undefined);
    if (moving.length === 0) this.#quietAt = version;
    for (const { id } of moving) {
      await this.#lead(id, 0, async () => {
        const workspace = await directory.findWorkspace(id);
        if (!workspace?.move) return;
        logger.warn({ workspace: id, ...workspace.move }, 'a move of a workspace is taken over');
        await this.#finish(workspace, STANDARD_WAIT_MS);
      }).catch((error) => {
        if (!(error instanceof GatewayError) && !(error instanceof Superseded)) throw error;
      });
    }
  }

  /** One process moves a workspace at a time. `patienceMs`: for how long it waits for another one that may have died. */
  async #lead<Result>(id: string, patienceMs: number, work: () => Promise<Result>): Promise<Result> {
    const { redis, names } = this.parts;
    const key = names.moveLease(id);
    const until = performance.now() + patienceMs;
    while ((await redis.set(key, '1', 'PX', LEASE_MS, 'NX')) !== 'OK') {
      if (performance.now() >= until)
        throw new GatewayError('conflict', 'The workspace is being moved already.', {
          retryAfterMs: LEASE_MS,
        });
      await sleep(ASK_FOR_LEASE_EVERY_MS);
    }
    const renew = setInterval(() => {
      redis.pexpire(key, LEASE_MS).catch(() => {});
    }, RENEW_EVERY_MS);
    try {
      return await work();
    } finally {
      clearInterval(renew);
      await redis.del(key);
    }
  }

  /** What would make it wait for hours, or be served wrongly, is found before any caller waits. */
  async #requireReady(id: string, from: number, to: number): Promise<void> {
    const alive = await this.parts.presence.alive();
    const least = Math.max(from, to) + 1;
    if (alive.some(({ role, shards }) => role === 'api' && !shards?.knowsMoves))
      throw new GatewayError('conflict', 'An api process of an older version is running. Replace it first.');
    if (alive.some(({ shards }) => (shards?.count ?? 1) < least))
      throw new GatewayError('conflict', `A process does not know shard ${least - 1}. Replace it first.`);
    const serves = ({ role, shards }: (typeof alive)[number]) =>
      role === 'worker' && (shards?.served ?? [to]).includes(to);
    if (!alive.some(serves)) throw new GatewayError('conflict', `No worker serves shard ${to}.`);
    const underWay = this.#underWay(id, from);
    const [{ planned }, parts] = await Promise.all([underWay.jobs(), underWay.partsAtProviders()]);
    const reasons = [...plannedText(planned), ...partsText(parts)];
    if (reasons.length > 0)
      throw new GatewayError(
        'conflict',
        `The workspace cannot move before these have ended: ${reasons.join('; ')}.`,
      );
  }

  async #begin(now: WorkspaceRecord, from: number, to: number, waitMs: number): Promise<Moved> {
    const { id } = now;
    const attempt = await this.#nextAttempt();
    const target = new FencedShard(this.#shard(to), id, attempt);
    await target.close();
    const ahead = await copyAnswersAhead(now, this.#shard(from), target);
    const move: WorkspaceMove = { from, to, step: 'copying', since: this.parts.clock.now(), attempt };
    await this.#change(id, (workspace) => {
      if (workspace.move || (workspace.shard ?? FIRST_SHARD) !== from) throw new Superseded();
      return { ...workspace, move };
    });
    return this.#copy(id, move, waitMs, ahead);
  }

  /** Goes on where another attempt has ended. */
  async #finish({ id }: WorkspaceRecord, waitMs: number): Promise<void> {
    const attempt = await this.#nextAttempt();
    const { move } = await this.#change(id, (workspace) => {
      if (!workspace.move || workspace.move.attempt > attempt) throw new Superseded();
      return { ...workspace, move: { ...workspace.move, attempt } };
    });
    if (move?.step === 'copying') await this.#copy(id, move, waitMs);
    else if (move) await this.#clean(id, move);
  }

  async #copy(id: string, move: WorkspaceMove, waitMs: number, ahead?: CopiedAnswers): Promise<Moved> {
    const began = performance.now();
    const [from, to] = [this.#fenced(id, move, move.from), this.#fenced(id, move, move.to)];
    await this.#step('heard');
    await sleep(Math.min(HEARD_MS, HEARD_MS - (this.parts.clock.now() - move.since)));
    const until = performance.now() + waitMs;
    await this.#stopBatches(id, move, until);
    await this.#step('closed');
    await from.close();
    const left = await this.#drain(id, move, from, until);
    if (left > 0) {
      await this.#giveUp(id, move, from);
      throw new GatewayError(
        'conflict',
        `The workspace was not moved, because ${left} of its requests are still under way. It is served as before.`,
        { retryAfterMs: waitMs },
      );
    }
    await this.#step('drained');
    await this.#fill(id, move, from, to, ahead).catch(async (error) => {
      if (!isRedisAway(error)) throw error;
      await this.#giveUp(id, move, from);
      throw new GatewayError('conflict', `The workspace was not moved: shard ${move.to} cannot be reached.`);
    });
    await this.#step('opened');
    await this.#switch(id, move);
    const heldMs = Math.round(performance.now() - began);
    this.parts.logger.info(
      { workspace: id, from: move.from, to: move.to, heldMs },
      'a workspace has moved to another shard',
    );
    await this.#step('switched');
    await this.#clean(id, move);
    return { from: move.from, to: move.to, heldMs };
  }

  async #fill(
    id: string,
    move: WorkspaceMove,
    from: FencedShard,
    to: FencedShard,
    ahead: CopiedAnswers | undefined,
  ): Promise<void> {
    await to.close();
    const workspace = await this.parts.directory.findWorkspace(id);
    if (workspace) await copyBelongings(workspace, from.shard, to, ahead);
    await this.#step('copied');
    await this.#shard(move.to).webhooks.takeUp(id);
    await to.open();
  }

  /** Nobody runs them until they are in the other shard. A run that has stopped gives its lease back. */
  async #stopBatches(id: string, move: WorkspaceMove, until: number): Promise<void> {
    while ((await this.#runningBatches(id, move)) > 0 && performance.now() < until)
      await sleep(LOOK_EVERY_MS);
  }

  /** Takes the leases of its batches. Returns how many somebody else has. */
  async #runningBatches(id: string, move: WorkspaceMove): Promise<number> {
    const { redis, names } = this.#shard(move.from);
    const leases = new BatchLeases(redis, names);
    let running = 0;
    for (const batch of await this.#underWay(id, move.from).activeBatches()) {
      const isHeld = (await leases.renew(batch, BATCH_TOKEN)) || (await leases.lease(batch, BATCH_TOKEN));
      if (!isHeld) running++;
    }
    return running;
  }

  async #releaseBatches(id: string, move: WorkspaceMove): Promise<void> {
    const { redis, names } = this.#shard(move.from);
    const leases = new BatchLeases(redis, names);
    for (const batch of await this.#underWay(id, move.from).activeBatches())
      await leases.release(batch, BATCH_TOKEN);
  }

  /** Waits until nothing is under way. Returns how much still is. */
  async #drain(id: string, move: WorkspaceMove, from: FencedShard, until: number): Promise<number> {
    const underWay = this.#underWay(id, move.from);
    for (;;) {
      // A reservation is made before its job, and a job is gone before its events are told. So they are counted in this order.
      const reservations = await from.letOut();
      const { all } = await underWay.jobs();
      const left =
        Math.max(reservations, all) +
        (await this.#runningBatches(id, move)) +
        (await underWay.partsAtProviders()).length +
        (await underWay.events());
      if (left === 0 || performance.now() > until) return left;
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #giveUp(id: string, { attempt, ...move }: WorkspaceMove, from: FencedShard): Promise<void> {
    await this.#releaseBatches(id, { ...move, attempt });
    await from.open();
    await this.#change(id, ({ move, ...workspace }) => {
      if (move?.attempt !== attempt) throw new Superseded();
      return workspace;
    });
  }

  async #switch(id: string, move: WorkspaceMove): Promise<void> {
    try {
      await this.#change(id, (workspace) => {
        if (workspace.move?.attempt !== move.attempt) throw new Superseded();
        return { ...workspace, shard: move.to, move: { ...move, step: 'cleaning' } };
      });
    } catch (error) {
      // It was deleted meanwhile, and so are the copies.
      if (error instanceof GatewayError && error.code === 'not_found') {
        const { redis, names } = this.#shard(move.to);
        await eraseState(redis, names, id);
      }
      throw error;
    }
  }

  async #clean(id: string, move: WorkspaceMove): Promise<void> {
    const from = this.#fenced(id, move, move.from);
    await from.close();
    const workspace = await this.parts.directory.findWorkspace(id);
    if (workspace) await dropBelongings(workspace, from);
    await this.#step('cleaned');
    await this.#change(id, ({ move: current, ...rest }) => {
      if (current?.attempt !== move.attempt) throw new Superseded();
      return rest;
    });
  }

  async #change(
    id: string,
    change: (workspace: WorkspaceRecord) => WorkspaceRecord,
  ): Promise<WorkspaceRecord> {
    const changed = await this.parts.directory.changeWorkspace(id, change);
    if (!changed) throw noWorkspace();
    return changed;
  }

  #nextAttempt(): Promise<number> {
    return this.parts.redis.incr(this.parts.names.moveCount);
  }

  #shard(id: number): MoverShard {
    const shard = this.parts.shards[id];
    if (!shard) throw new GatewayError('service_unavailable', `This process does not know shard ${id}.`);
    return shard;
  }

  #fenced(id: string, { attempt }: WorkspaceMove, shard: number): FencedShard {
    return new FencedShard(this.#shard(shard), id, attempt);
  }

  #underWay(id: string, shard: number): UnderWay {
    return new UnderWay(this.#shard(shard), id, this.parts.providers);
  }

  async #step(step: MoveStep): Promise<void> {
    await this.parts.onStep?.(step);
  }
}

function plannedText(deadlines: readonly number[]): string[] {
  if (deadlines.length === 0) return [];
  return [
    `${count(deadlines, 'request')} with a deadline, the last one until ${momentOf(Math.max(...deadlines))}`,
  ];
}

function partsText(parts: readonly HandedPart[]): string[] {
  if (parts.length === 0) return [];
  const providers = [...new Set(parts.map(({ entry }) => entry.provider))].join(', ');
  const last = Math.max(...parts.map(({ created }) => created));
  return [
    `${count(parts, 'part')} of batches at ${providers}, which may take until ${momentOf(last + MOST_AT_PROVIDER_MS)}`,
  ];
}

function count({ length }: readonly unknown[], what: string): string {
  return `${length} ${what}${length === 1 ? '' : 's'}`;
}

function momentOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
