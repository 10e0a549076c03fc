import { isObject, toText, toUnixSeconds } from '../json.js';
import { type ModelsPage, UnusableResponse } from '../types.js';

/** The most that Anthropic gives at once. */
const PAGE_SIZE = 1000;

export function modelsQuery(after?: string): Record<string, string> {
  return { limit: String(PAGE_SIZE), ...(after === undefined ? {} : { after_id: after }) };
}

export function parseModels(body: unknown): ModelsPage {
  if (!isObject(body) || !Array.isArray(body.data))
    throw new UnusableResponse('the body is not a model list');
  const models: ModelsPage['models'] = [];
  for (const model of body.data) {
    if (isObject(model) && typeof model.id === 'string') {
      const createdAt = Date.parse(toText(model.created_at) ?? '');
      // A model of unknown age comes as 1970.
      models.push({ id: model.id, created: createdAt > 0 ? toUnixSeconds(createdAt) : 0 });
    }
  }
  const next = body.has_more === true ? toText(body.last_id) : undefined;
  return next === undefined ? { models } : { models, next };
}
