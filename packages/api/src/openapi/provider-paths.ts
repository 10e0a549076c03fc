/** The paths of providers. */
import { PRESETS_WITHOUT_TOKEN } from '@sluice/shared/config/presets';
import * as s from './parts.js';

const provider = s.inPath('provider', 'Name of a provider.');

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
          'The fields of a provider in gateway.yaml, without keys, and without an auth that fetches a token or signs calls.',
        properties: {
          preset: s.oneOf(...PRESETS_WITHOUT_TOKEN),
          kind: s.oneOf('openai', 'anthropic'),
          base_url: s.text,
          api_key: {
            ...s.textOrNull,
            description:
              'The provider’s key. It is stored encrypted and never shown. Left out: the stored key stays, while base_url, path, models_path, query, headers and auth.header stay the same. Null: no key.',
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
      summary: 'Give an added provider another key. Calls under way end with the old one.',
      parameters: [provider],
      requestBody: s.body(s.object({ api_key: s.text })),
      responses: {
        '200': s.json('Changed.', s.ref('Provider')),
        ...s.errors('invalid_request', 'not_found', 'conflict'),
      },
    },
  },
  '/providers/{provider}/test': {
    post: {
      summary:
        'Make one real call of a few tokens, and say in words what is wrong. It is not logged and not billed to anybody.',
      parameters: [provider],
      requestBody: s.body(s.object({}, { model: s.text }), false),
      responses: {
        '200': s.json('What came of it.', s.ref('ProviderTest')),
        ...s.errors('not_found', 'invalid_request'),
      },
    },
  },
};
