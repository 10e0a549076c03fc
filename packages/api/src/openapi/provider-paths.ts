/** The paths of providers. */
import { PRESETS_WITHOUT_TOKEN } from '@sluice/shared/config/presets';
import * as s from './parts.js';

const provider = s.inPath('provider', 'Name of a provider.');
const key = s.inPath('key', 'Name of one of its keys.');

/** The weight of a key of an added provider. */
const weight = {
  type: ['integer', 'null'],
  minimum: 1,
  maximum: 1000,
  description: 'Its share of the calls. Null: the least busy key is taken.',
};
const apiKey = s.matching(/^[!-~]{1,4096}$/);
const limits = { type: ['object', 'null'], description: 'The limits per minute, as in gateway.yaml.' };

export const providerPaths: Record<string, Record<string, s.Operation>> = {
  '/providers': {
    get: {
      summary: 'How each provider is reached.',
      responses: {
        '200': s.json(
          'By their order in gateway.yaml, and then those that were added.',
          s.listOf(s.ref('Provider'), {
            can_add: { ...s.flag, description: 'False: access.add_providers is false.' },
          }),
        ),
      },
    },
  },
  '/providers/{provider}': {
    put: {
      summary:
        'Add a provider beside those of gateway.yaml, or replace its settings. Every process knows it within two seconds.',
      parameters: [provider],
      requestBody: s.body({
        type: 'object',
        description:
          'The fields of a provider in gateway.yaml, without an auth that fetches a token or signs calls. A value of headers may be true: then the stored one stays.',
        properties: {
          preset: s.oneOf(...PRESETS_WITHOUT_TOKEN),
          kind: s.oneOf('openai', 'anthropic'),
          base_url: s.text,
          api_key: {
            ...s.orNull(apiKey),
            description:
              'The provider’s key. It is stored encrypted and never shown. Left out: the stored key stays, while base_url, path, models_path, query, headers and auth.header stay the same. Null: no key.',
          },
          keys: {
            ...s.orNull({
              ...s.arrayOf(
                s.object(
                  { name: s.matching(/^[a-z0-9][a-z0-9_-]{0,62}$/) },
                  { api_key: s.orNull(apiKey), weight, limits },
                ),
              ),
              minItems: 1,
              maxItems: 64,
            }),
            description:
              'Several keys instead of api_key. A key without api_key stays as it is stored. Left out together with api_key: all stay.',
          },
        },
        additionalProperties: true,
      }),
      responses: {
        '200': s.json('Changed.', s.ref('Provider')),
        '201': s.json('Added.', s.ref('Provider')),
        ...s.errors('invalid_request', 'conflict', 'quota_exceeded'),
      },
    },
    delete: {
      summary: 'Remove an added provider. Refused while a route leads to it, or while it runs a batch.',
      parameters: [provider],
      responses: {
        '200': s.json('Removed.', s.deleted('provider')),
        ...s.errors('not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/key': {
    put: {
      summary: 'Give an added provider with one key another one. Calls under way end with the old one.',
      parameters: [provider],
      requestBody: s.body(s.object({ api_key: apiKey })),
      responses: {
        '200': s.json('Changed.', s.ref('Provider')),
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
        ...s.object({}, { api_key: apiKey, weight, limits }),
        description: 'A field that is left out stays as it is. A new key needs api_key.',
      }),
      responses: {
        '200': s.json('Added or changed.', s.ref('Provider')),
        ...s.errors('invalid_request', 'not_found', 'conflict'),
      },
    },
    delete: {
      summary: 'Remove a key of an added provider. Refused for the only one, and while a batch needs it.',
      parameters: [provider, key],
      responses: {
        '200': s.json('Removed.', s.ref('Provider')),
        ...s.errors('not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/test': {
    post: {
      summary:
        'Make one real call of a few tokens, and say in words what is wrong. It is not logged and not billed to anybody.',
      parameters: [provider],
      requestBody: s.body(s.object({}, { model: s.matching(/^[!-~]{1,256}$/) }), false),
      responses: {
        '200': s.json('What came of it.', s.ref('ProviderTest')),
        ...s.errors('not_found', 'invalid_request'),
      },
    },
  },
};
