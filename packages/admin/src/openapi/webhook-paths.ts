/** The paths of webhooks and of what is sent to them. */

import * as s from '@sluice/api/openapi/parts';
import * as c from '@sluice/shared/contract/all';

const workspace = s.inPath('id', 'Id of the workspace.');
const webhook = s.inPath('webhook', 'Id of the webhook.');

export const webhookPaths: Record<string, Record<string, s.Operation>> = {
  '/workspaces/{id}/webhooks': {
    get: {
      summary: 'The webhooks of a workspace, the oldest first.',
      parameters: [workspace],
      responses: { '200': s.json('The webhooks.', c.listOf(c.webhook)), ...s.errors('not_found') },
    },
    post: {
      summary: 'Add a webhook. The answer has its secret, which is shown only now.',
      parameters: [workspace],
      requestBody: s.body(c.webhookInput),
      responses: {
        '201': s.json('The webhook and its secret.', c.createdWebhook),
        ...s.errors('invalid_request', 'not_found', 'quota_exceeded'),
      },
    },
  },
  '/workspaces/{id}/webhooks/{webhook}': {
    delete: {
      summary: 'Remove a webhook. Messages that wait for it are not sent.',
      parameters: [workspace, webhook],
      responses: { '200': s.json('Removed.', c.deleted('webhook')), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/webhooks/{webhook}/test': {
    post: {
      summary: 'Send an event of type webhook.test.',
      parameters: [workspace, webhook],
      responses: { '202': s.json('Its delivery.', c.webhookDelivery), ...s.errors('not_found') },
    },
  },
  '/workspaces/{id}/webhook-deliveries': {
    get: {
      summary: 'The messages to a workspace’s webhooks, the newest first, and how each went.',
      parameters: [workspace, ...s.query(c.deliveriesQuery)],
      responses: {
        '200': s.json('The deliveries.', c.listOf(c.webhookDelivery)),
        ...s.errors('invalid_request', 'not_found'),
      },
    },
  },
  '/workspaces/{id}/webhook-deliveries/{delivery}/resend': {
    post: {
      summary: 'Send a message again, now, under the same id.',
      parameters: [workspace, s.inPath('delivery', 'Id of the delivery.')],
      responses: { '202': s.json('The delivery.', c.webhookDelivery), ...s.errors('not_found') },
    },
  },
};
