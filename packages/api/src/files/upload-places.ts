/**
 * The places for uploads of one api process, counted in all and by workspace. Who takes a place must give it back once, however
 * the upload ends. A workspace without uploads has no entry, so the map is as small as the uploads under way.
 */
import { GatewayError } from '@sluice/shared/errors';

/** The most uploads at a time, in an api process and for one workspace. Each takes a few buffers and a file. */
const MOST = 32;
const MOST_OF_WORKSPACE = 4;
const RETRY_AFTER_MS = 5_000;

export class UploadPlaces {
  readonly #ofWorkspace = new Map<string, number>();
  #taken = 0;

  /** Returns a function that gives the place back. */
  take(workspace: string): () => void {
    const own = this.#ofWorkspace.get(workspace) ?? 0;
    if (own >= MOST_OF_WORKSPACE)
      throw new GatewayError(
        'rate_limited',
        `This workspace may send ${MOST_OF_WORKSPACE} files at a time.`,
        { retryAfterMs: RETRY_AFTER_MS, reason: 'too_many_uploads' },
      );
    if (this.#taken >= MOST)
      throw new GatewayError('service_unavailable', 'The gateway receives too many files.', {
        retryAfterMs: RETRY_AFTER_MS,
      });
    this.#taken += 1;
    this.#ofWorkspace.set(workspace, own + 1);
    return () => {
      this.#taken -= 1;
      const left = (this.#ofWorkspace.get(workspace) ?? 1) - 1;
      if (left > 0) this.#ofWorkspace.set(workspace, left);
      else this.#ofWorkspace.delete(workspace);
    };
  }
}
