/** Where a workspace is told how its batches and requests in the background ended. */
import { moment, momentOrNull, textOrNull, webhookAddress } from './common.js';
import * as s from './structs.js';

export const EVENT_TYPES = [
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'request.completed',
  'request.failed',
  'request.cancelled',
  'budget.threshold',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

const event = s.choice(...EVENT_TYPES);

const webhookFields = {
  id: s.text(),
  object: s.literal('webhook'),
  workspace: s.text(),
  url: s.text().about('(unreadable): the payload key that it was encrypted with is not held any more.'),
  events: s.list(event),
  created_at: moment,
};
export const webhook = s.component('Webhook', webhookFields);
export type WebhookView = s.Infer<typeof webhook>;

export const createdWebhook = s.component('CreatedWebhook', {
  ...webhookFields,
  secret: s.text().about('Signs the messages. It is shown only now.'),
});
export type CreatedWebhook = s.Infer<typeof createdWebhook>;

export const webhookInput = s.fields({
  url: webhookAddress,
  events: s.optional(s.list(event, { min: 1, max: EVENT_TYPES.length })),
});

export const webhookDelivery = s.component('WebhookDelivery', {
  id: s.text(),
  object: s.literal('webhook_delivery'),
  workspace: s.text(),
  webhook: s.text(),
  event_id: s.text().about('The webhook-id of the message, the same however often it is sent.'),
  type: s.text(),
  subject: s.text().about('Id of the batch or request that the event is about.'),
  state: s.choice('waiting', 'delivered', 'failed'),
  attempts: s.whole(),
  created_at: moment,
  last_attempt_at: momentOrNull,
  outcome: textOrNull.about('A status, or a word such as timeout.'),
  next_attempt_at: momentOrNull,
});
export type WebhookDelivery = s.Infer<typeof webhookDelivery>;
