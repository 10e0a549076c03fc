import { textOrNull } from './common.js';
import * as s from './structs.js';

export const errorDetail = s.component('ErrorDetail', {
  message: s.text(),
  type: s.text(),
  code: s.text(),
  param: textOrNull,
  provider_code: s.optional(s.text().about('The code of a provider that refused the request itself.')),
});
export const error = s.component('Error', { error: errorDetail });
export const health = s.component('Health', { status: s.text(), problems: s.optional(s.list(s.text())) });
