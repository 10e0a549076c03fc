/** The paths of providers. */

import * as s from '@sluice/api/openapi/parts';
import * as c from '@sluice/shared/contract/all';

const provider = s.inPath('provider', 'Name of a provider.');
const key = s.inPath('key', 'Name of one of its keys.');

export const providerPaths: Record<string, Record<string, s.Operation>> = {
  '/providers': {
    get: {
      summary: 'How each provider is reached.',
      responses: {
        '200': s.json(
          'By their order in gateway.yaml, and then those that were added.',
          c.listOf(c.providerInfo, c.providerPage),
        ),
      },
    },
  },
  '/providers/{provider}': {
    put: {
      summary:
        'Add a provider beside those of gateway.yaml, or replace its settings. Every process knows it within two seconds.',
      parameters: [provider, ...s.query(c.takeOverQuery)],
      requestBody: s.body(c.providerInput),
      responses: {
        '200': s.json('Changed.', c.providerInfo),
        '201': s.json('Added.', c.providerInfo),
        ...s.errors('invalid_request', 'conflict', 'quota_exceeded'),
      },
    },
    delete: {
      summary: 'Remove an added provider. Refused while a route leads to it, or while it runs a batch.',
      parameters: [provider],
      responses: {
        '200': s.json('Removed.', c.deleted('provider')),
        ...s.errors('not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/key': {
    put: {
      summary: 'Give an added provider with one key another one. Calls under way end with the old one.',
      parameters: [provider],
      requestBody: s.body(c.secretInput),
      responses: {
        '200': s.json('Changed.', c.providerInfo),
        ...s.errors('invalid_request', 'not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/keys/{key}': {
    put: {
      summary:
        'Add a key to an added provider, or change one. Calls under way end with the old one. A provider’s only key is named default then.',
      parameters: [provider, key],
      requestBody: s.body({
        ...c.poolKeyInput.json,
        description: 'A field that is left out stays as it is. A new key needs api_key.',
      }),
      responses: {
        '200': s.json('Added or changed.', c.providerInfo),
        ...s.errors('invalid_request', 'not_found', 'conflict'),
      },
    },
    delete: {
      summary: 'Remove a key of an added provider. Refused for the only one, and while a batch needs it.',
      parameters: [provider, key],
      responses: {
        '200': s.json('Removed.', c.providerInfo),
        ...s.errors('not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/test': {
    post: {
      summary:
        'Make one real call of a few tokens, and say in words what is wrong. It is not logged and not billed to anybody.',
      parameters: [provider],
      requestBody: s.body(c.providerQuestion, false),
      responses: {
        '200': s.json('What came of it.', c.providerVerdict),
        ...s.errors('not_found', 'invalid_request'),
      },
    },
  },
};
