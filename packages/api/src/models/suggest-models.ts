/** Suggests the nearest names to a caller who asks for an unknown model. */
import type { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import { distance } from 'fastest-levenshtein';
import type { ParameterizedContext } from 'koa';
import type { Catalogue } from '../cell/catalogue.js';
import type { Authenticated } from '../http/authenticate.js';
import { listModels } from './models-route.js';
import type { Sought } from './sought.js';

const SUGGESTED = 3;
/** Longer than any alias. A longer text is not a mistyped name, and comparing it would be slow. */
const MAX_LENGTH = 128;
const SHOWABLE = /^[!-~]{1,128}$/;

type Serve<State> = (ctx: ParameterizedContext<State>) => Promise<void>;

/** Wraps handlers that may answer `model_not_found`, for the gateway or for a provider, or that a model has no price. */
export function createSuggestModels(directory: Directory, catalogue: Catalogue) {
  async function suggest(
    error: unknown,
    { key, soughtModel }: Authenticated & Partial<Sought>,
  ): Promise<never> {
    if (!(error instanceof GatewayError) || !isAboutModel(error) || soughtModel === undefined) throw error;
    // While Redis is away, the answer has no suggestions.
    const models = await listModels(key.workspace, directory, catalogue).catch(() => []);
    const names = nearest(
      soughtModel,
      models.map(({ id }) => id),
    );
    const hints = [error.message, ...(names.length > 0 ? [didYouMean(names)] : [])];
    const { code, headers } = error;
    throw new GatewayError(code, hints.join(' '), { ...error.toInfo(), headers, cause: error });
  }
  return <State extends Authenticated & Partial<Sought>>(serve: Serve<State>): Serve<State> =>
    (ctx) =>
      serve(ctx).catch((error) => suggest(error, ctx.state));
}

function isAboutModel({ code, reason }: GatewayError): boolean {
  return code === 'model_not_found' || reason === 'no_price';
}

/** Returns the nearest names first. Equally near names keep their order, in which aliases come before model ids. */
export function nearest(sought: string, names: readonly string[]): string[] {
  if (sought.length > MAX_LENGTH) return [];
  const most = Math.max(2, Math.floor(sought.length / 3));
  const wanted = sought.toLowerCase();
  return names
    .filter((name) => name !== sought && SHOWABLE.test(name) && Math.abs(name.length - sought.length) <= most)
    .map((name) => ({ name, far: distance(wanted, name.toLowerCase()) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far)
    .slice(0, SUGGESTED)
    .map(({ name }) => name);
}

function didYouMean(names: string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop();
  return `Did you mean ${quoted.length > 0 ? `${quoted.join(', ')} or ` : ''}${last}?`;
}
