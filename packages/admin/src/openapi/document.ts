import { json } from '@sluice/api/openapi/parts';
import { chatRequestSchema, embeddingRequestSchema, publicPaths } from '@sluice/api/openapi/public-api';
import * as contract from '@sluice/shared/contract/all';
import { adminPaths, sessionPaths } from './admin-paths.js';

/** The structs of the contract that have a name. */
const components = Object.fromEntries(
  Object.values<unknown>(contract).flatMap((thing) =>
    thing instanceof contract.Shape && thing.component ? [[thing.component.name, thing.component.json]] : [],
  ),
);

/** Describes both listeners. A test compares it with their real answers. */
export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Sluice',
    version: '0.1.0',
    description:
      'An LLM gateway with a durable queue. The paths under /v1 and /routes are the public listener’s.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // The admin listener serves the document.
  servers: [{ url: '/', description: 'The admin listener.' }],
  security: [{ adminToken: [] }, { session: [] }],
  paths: {
    ...publicPaths,
    '/healthz': {
      get: {
        summary: 'Whether the process is up; on both listeners.',
        security: [],
        responses: { '200': json('It is.', contract.health) },
      },
    },
    ...sessionPaths,
    ...adminPaths,
  },
  components: {
    securitySchemes: {
      gatewayKey: { type: 'http', scheme: 'bearer', description: 'A key of a workspace.' },
      adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN.' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'sluice-session',
        description:
          'A browser that is signed in. Its changes need the header x-sluice-console. By TLS the cookie is __Host-sluice-session.',
      },
    },
    schemas: { ChatRequest: chatRequestSchema, EmbeddingRequest: embeddingRequestSchema, ...components },
  },
};

/** The document of a gateway with this public address and limit of messages. */
export function openapiAt(publicUrl: string, limits: { messages: number }) {
  const { ChatRequest } = openapi.components.schemas;
  const messages = { ...ChatRequest.properties.messages, maxItems: limits.messages };
  const schemas = {
    ...openapi.components.schemas,
    ChatRequest: { ...ChatRequest, properties: { ...ChatRequest.properties, messages } },
  };
  const servers = [{ url: publicUrl, description: 'The public listener.' }];
  const paths = Object.entries(openapi.paths).map(([path, operations]) => [
    path,
    'servers' in operations ? { ...operations, servers } : operations,
  ]);
  return {
    ...openapi,
    paths: Object.fromEntries(paths),
    components: { ...openapi.components, schemas },
  };
}
