/** The paths of alerts and of what was sent for them. */
import * as s from '@sluice/api/openapi/parts';
import * as c from '@sluice/shared/contract/all';

const alert = s.inPath('alert', 'Id of the alert.');

export const alertPaths: Record<string, Record<string, s.Operation>> = {
  '/alerts': {
    get: {
      summary: 'What operators want to be told of, and what of it fires now.',
      responses: { '200': s.json('The alerts, the oldest first.', c.listOf(c.alert)) },
    },
    post: {
      summary: 'Add an alert. The answer has the secret of its webhook, which is shown only now.',
      requestBody: s.body(c.alertInput),
      responses: {
        '201': s.json('The alert.', c.createdAlert),
        ...s.errors('invalid_request', 'quota_exceeded'),
      },
    },
  },
  '/alerts/{alert}': {
    patch: {
      summary: 'Change an alert of its kind. Another webhook gets another secret, which is shown only now.',
      parameters: [alert],
      requestBody: s.body(c.alertChange),
      responses: { '200': s.json('The alert.', c.createdAlert), ...s.errors('invalid_request', 'not_found') },
    },
    delete: {
      summary: 'Remove an alert. What waits to be sent for it is not sent.',
      parameters: [alert],
      responses: { '200': s.json('Removed.', c.deleted('alert')), ...s.errors('not_found') },
    },
  },
  '/alerts/{alert}/test': {
    post: {
      summary: 'Send a message of type alert.test to the webhook and the mail addresses.',
      parameters: [alert],
      responses: { '202': s.json('What is sent.', c.listOf(c.alertNotice)), ...s.errors('not_found') },
    },
  },
  '/alert-notices': {
    get: {
      summary: 'What was sent for alerts, the newest first, and how it went.',
      parameters: s.query(c.deliveriesQuery),
      responses: { '200': s.json('The notices.', c.listOf(c.alertNotice)), ...s.errors('invalid_request') },
    },
  },
};
