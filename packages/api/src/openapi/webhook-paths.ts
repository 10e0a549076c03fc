/** The paths of webhooks and of what is sent to them. */
import { EVENT_TYPES } from '../webhooks/webhook-store.js';
import * as s from './parts.js';

const workspace = s.inPath('id', 'Id of the workspace.');
const webhook = s.inPath('webhook', 'Id of the webhook.');

const webhookFields = {
  id: s.text,
  object: { const: 'webhook' },
  workspace: s.text,
  url: {
    ...s.text,
    description: '(unreadable): the payload key that it was encrypted with is not held any more.',
  },
  events: s.arrayOf(s.oneOf(...EVENT_TYPES)),
  created_at: s.moment,
};

export const webhookSchemas = {
  Webhook: s.object(webhookFields),
  CreatedWebhook: s.object({
    ...webhookFields,
    secret: { ...s.text, description: 'Signs the messages. It is shown only now.' },
  }),
  WebhookDelivery: s.object({
    id: s.text,
    object: { const: 'webhook_delivery' },
    workspace: s.text,
    webhook: s.text,
    event_id: { ...s.text, description: 'The webhook-id of the message, the same however often it is sent.' },
    type: s.text,
    subject: { ...s.text, description: 'Id of the batch or request that the event is about.' },
    state: s.oneOf('waiting', 'delivered', 'failed'),
    attempts: s.whole,
    created_at: s.moment,
    last_attempt_at: s.momentOrNull,
    outcome: { ...s.textOrNull, description: 'A status, or a word such as timeout.' },
    next_attempt_at: s.momentOrNull,
  }),
} satisfies Record<string, s.Schema>;

export const webhookPaths: Record<string, Record<string, s.Operation>> = {
  '/workspaces/{id}/webhooks': {
    get: {
      summary: 'The webhooks of a workspace, the oldest first.',
      parameters: [workspace],
      responses: { '200': s.json('The webhooks.', s.listOf(s.ref('Webhook'))), ...s.errors('not_found') },
    },
    post: {
      summary: 'Add a webhook. The answer has its secret, which is shown only now.',
      parameters: [workspace],
      requestBody: s.body(
        s.object(
          { url: s.matching(/^\S{1,2000}$/) },
          {
            events: {
              ...s.arrayOf(s.oneOf(...EVENT_TYPES)),
              minItems: 1,
              maxItems: EVENT_TYPES.length,
            },
          },
        ),
      ),
      responses: {
        '201': s.json('The webhook and its secret.', s.ref('CreatedWebhook')),
        ...s.errors('invalid_request', 'not_found', 'quota_exceeded'),
      },
    },
  },
  '/workspaces/{id}/webhooks/{webhook}': {
    delete: {
      summary: 'Remove a webhook. Messages that wait for it are not sent.',
      parameters: [workspace, webhook],
      responses: { '200': s.json('Removed.', s.deleted('webhook')), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/webhooks/{webhook}/test': {
    post: {
      summary: 'Send an event of type webhook.test.',
      parameters: [workspace, webhook],
      responses: { '202': s.json('Its delivery.', s.ref('WebhookDelivery')), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/webhook-deliveries': {
    get: {
      summary: 'The messages to a workspace’s webhooks, the newest first, and how each went.',
      parameters: [workspace, s.inQuery('limit', 'At most so many, up to 1000. Default: 100.')],
      responses: {
        '200': s.json('The deliveries.', s.listOf(s.ref('WebhookDelivery'))),
        ...s.errors('invalid_request', 'not_found'),
      },
    },
  },
  '/workspaces/{id}/webhook-deliveries/{delivery}/resend': {
    post: {
      summary: 'Send a message again, now, under the same id.',
      parameters: [workspace, s.inPath('delivery', 'Id of the delivery.')],
      responses: { '202': s.json('The delivery.', s.ref('WebhookDelivery')), ...s.errors('not_found') },
    },
  },
};
