import { textOrNull } from './common.js';
import * as s from './structs.js';

export const errorDetail = s.named(
  'ErrorDetail',
  s.fields({
    message: s.text(),
    type: s.text(),
    code: s.text(),
    param: textOrNull,
    provider_code: s.optional(
      s.described(s.text(), 'The code of a provider that refused the request itself.'),
    ),
  }),
);
export const error = s.named('Error', s.fields({ error: errorDetail }));
export const health = s.named(
  'Health',
  s.fields({ status: s.text(), problems: s.optional(s.list(s.text())) }),
);
