/**
 * Records what this worker's calls say about the health of providers, for all processes. Recording may fail while Redis
 * refuses to write. The result of a call does not depend on it, so nothing waits for it.
 */

import { createHmac } from 'node:crypto';
import { asksForEmbeddings, type ChatRequest } from '@sluice/shared/chat';
import { outcomeRow } from '@sluice/shared/outcomes';
import { FailureLog } from '@sluice/shared/process/failure-log';
import type { Logger } from '@sluice/shared/process/logger';
import type { Callers } from '@sluice/shared/providers/callers';
import type { CircuitBreakers, CircuitChange } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDownSubject, CoolDowns } from '@sluice/shared/providers/cool-downs';
import { tierApart } from '@sluice/shared/providers/service-tier';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import type { ProviderFailure } from '../providers/types.js';
import type { Upstream } from './call-provider.js';

export interface HealthParts {
  coolDowns: CoolDowns;
  circuits: CircuitBreakers;
  callers: Callers;
  logger: Logger;
}

/** A call of a provider. */
export interface Called {
  upstream: Upstream;
  entry: ChainEntry;
  job: ChatJob;
  request: ChatRequest;
}

export class ProviderHealth {
  readonly #failureLog: FailureLog;

  constructor(private readonly parts: HealthParts) {
    this.#failureLog = new FailureLog(parts.logger, { what: 'recording the health of providers' });
  }

  /** A probe that ended without saying anything about the provider leaves its place to the next call. */
  saidNothing(provider: string, requestId: string): void {
    this.#inBackground(this.parts.circuits.release(provider, requestId));
  }

  /** A call is about to be made. */
  calling(provider: string, { workspace }: ChatJob): void {
    this.#inBackground(this.parts.callers.saw(provider, workspace));
  }

  record(call: Called, failure: ProviderFailure | undefined): void {
    const { circuits, coolDowns } = this.parts;
    const { name } = call.upstream.config;
    if (!failure) this.#inBackground(coolDowns.succeeded(name, call.entry.model, tierApart(call.request)));
    if (failure && isUnhealthy(failure)) this.#inBackground(this.#failed(name, call, failure));
    else if (!circuits.isClosed(name)) this.#inBackground(this.#log(circuits.succeeded(name)));
  }

  /** Nobody calls for `ms`, or at most `maxMs`. */
  coolDown(subject: CoolDownSubject, ms: number, maxMs: number): void {
    this.#inBackground(this.parts.coolDowns.start(subject, ms, maxMs));
  }

  #failed(provider: string, call: Called, failure: ProviderFailure): Promise<void> {
    const { requestId, workspace } = call.job;
    const subject = outcomeRow(failure.outcome).unhealthy === 'unless_prompt' ? digestOf(call) : requestId;
    const meetsAll = isRefusedKey(failure);
    return this.#log(this.parts.circuits.failed(provider, { requestId, workspace, subject, meetsAll }));
  }

  async #log(changing: Promise<CircuitChange | undefined>): Promise<void> {
    const change = await changing;
    if (change && change.state !== 'failing')
      this.parts.logger.warn({ provider: change.provider, circuit: change.state }, 'circuit changed');
  }

  #inBackground(work: Promise<unknown> | undefined): void {
    work?.then(
      () => this.#failureLog.worked(),
      (error: unknown) => this.#failureLog.failed(error),
    );
  }
}

function isUnhealthy(failure: ProviderFailure): boolean {
  return outcomeRow(failure.outcome).unhealthy !== undefined || isRefusedKey(failure);
}

/** A 401, and a 400 of some providers, means that the key is refused for everybody. 403 may be about one request. */
function isRefusedKey({ outcome, status }: ProviderFailure): boolean {
  return outcome === 'auth' && (status === 401 || status === 400);
}

/** The same prompt has the same digest at every worker. Its key is not in Redis, so nobody can guess prompts by it. */
function digestOf({ upstream, request }: Called): string {
  return createHmac('sha256', upstream.promptKey)
    .update(JSON.stringify(asksForEmbeddings(request) ? request.input : request.messages))
    .digest('base64url');
}
