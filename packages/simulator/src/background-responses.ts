/** Responses that run in the background: asked for by id, cancelled and deleted with the key that made them. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Fields } from './dialect.js';
import { unknownResponse } from './responses-request.js';

interface Kept {
  answer: Fields;
  key: string | undefined;
  status: 'in_progress' | 'cancelled' | 'ended';
}

export class BackgroundResponses {
  readonly #kept = new Map<string, Kept>();

  get ids(): string[] {
    return [...this.#kept.keys()];
  }

  /** The answer is there when `until` is over. */
  begin(answer: Fields, { authorization }: IncomingHttpHeaders, until: number | Promise<unknown>): Fields {
    const kept: Kept = { answer, key: authorization, status: 'in_progress' };
    this.#kept.set(String(answer.id), kept);
    const end = () => {
      if (kept.status === 'in_progress') kept.status = 'ended';
    };
    if (typeof until === 'number') setTimeout(end, until).unref();
    else void until.then(end);
    return unfinished(answer, 'queued');
  }

  /** It forgets all of them, as a provider does after some minutes. */
  forget(): void {
    this.#kept.clear();
  }

  respond(method: string, path: string, { authorization }: IncomingHttpHeaders): Fields | undefined {
    const [, id = '', action] = /^\/v1\/responses\/([^/?]+)(\/cancel)?$/.exec(path) ?? [];
    const kept = this.#kept.get(id);
    if (!kept || kept.key !== authorization) throw unknownResponse(id);
    if (method === 'DELETE') {
      this.#kept.delete(id);
      return { id, object: 'response', deleted: true };
    }
    if (method === 'POST' && action !== undefined && kept.status === 'in_progress') kept.status = 'cancelled';
    if (method !== 'GET' && action === undefined) return undefined;
    return kept.status === 'ended' ? kept.answer : unfinished(kept.answer, kept.status);
  }
}

function unfinished(answer: Fields, status: string): Fields {
  return { ...answer, status, output: [], usage: null };
}
