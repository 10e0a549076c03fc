import { isObject, toNaturalNumber } from '../json.js';
import { type ModelsPage, UnusableResponse } from '../types.js';

export function parseModels(body: unknown): ModelsPage {
  if (!isObject(body) || !Array.isArray(body.data))
    throw new UnusableResponse('the body is not a model list');
  const models: ModelsPage['models'] = [];
  for (const model of body.data) {
    if (isObject(model) && typeof model.id === 'string') {
      models.push({ id: model.id, created: toNaturalNumber(model.created) });
    }
  }
  return { models };
}
