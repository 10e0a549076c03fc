import type { Router } from '@koa/router';
import type { AlertNotice, AlertView, CreatedAlert, List } from '@sluice/shared/admin-api';
import {
  ALERT_MINUTES,
  type AlertChange,
  alertChange,
  alertInput,
  alertKind,
} from '@sluice/shared/contract/alert';
import { deliveriesQuery } from '@sluice/shared/contract/query';
import type { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import { noteChange } from '../access/audit.js';
import { type Alert, type Firing, MOST_ALERTS, type Notice } from '../alerts/alert-store.js';
import type { Alerts } from '../alerts/alerts.js';
import { iso, isoOrNull, list } from '../http/present.js';
import { readInput, refuse } from '../http/read-input.js';
import { readWebhookAddress } from '../http/read-webhook-address.js';

export interface AlertRouteParts {
  alerts: Alerts;
  directory: Directory;
  providers: Pick<ReadonlyMap<string, unknown>, 'has'>;
  clock: Clock;
  allowPrivateAddresses: boolean;
  readBody: Middleware;
}

/** /alerts: what operators want to be told of. /alert-notices: what was sent. */
export function addAlertRoutes(router: Router, parts: AlertRouteParts): void {
  const { alerts, directory, providers, clock, allowPrivateAddresses, readBody } = parts;
  const { store } = alerts;

  const find = async (id: string): Promise<Alert> => {
    const alert = await store.find(id);
    if (!alert) throw new GatewayError('not_found', 'There is no such alert.');
    return alert;
  };

  /** What the contract cannot know of a given field. Returns the fields with a webhook as it is called. */
  const check = async <T extends AlertChange>(given: T): Promise<T> => {
    const { workspace, provider, mail, webhook } = given;
    if (typeof workspace === 'string' && !(await directory.findWorkspace(workspace)))
      refuse('workspace', 'is the id of no workspace');
    if (typeof provider === 'string' && !providers.has(provider))
      refuse('provider', 'is the name of no provider');
    if (mail && !alerts.canMail)
      refuse(
        'mail',
        'needs an SMTP server: set SMTP_URL and SMTP_FROM for the process with the admin listener',
      );
    return typeof webhook === 'string'
      ? { ...given, webhook: readWebhookAddress('webhook', webhook, allowPrivateAddresses) }
      : given;
  };

  router.get('/alerts', async (ctx) => {
    const [all, firings] = await Promise.all([store.list(), store.firings()]);
    const views = all.map(async (alert) => present(alert, firings, await alerts.isGone(alert)));
    ctx.body = list(await Promise.all(views)) satisfies List<AlertView>;
  });

  router.post('/alerts', readBody, async (ctx) => {
    const input = await check(readInput(alertInput, ctx.request.body));
    const alert = await store.add(input, clock.now());
    if (!alert) throw new GatewayError('quota_exceeded', `There may be at most ${MOST_ALERTS} alerts.`);
    const view = present(alert, []);
    noteChange(ctx, { after: withoutAddresses(view) });
    ctx.status = 201;
    ctx.body = { ...view, secret: alert.targets?.webhook?.secret ?? null } satisfies CreatedAlert;
  });

  router.patch('/alerts/:alert', readBody, async (ctx) => {
    const { alert: id = '' } = ctx.params;
    const change = withoutAbsent(await check(readInput(alertChange, ctx.request.body)));
    const changed = await store.change(id, (before) =>
      readInput(alertInput, { ...toInput(before), ...change }),
    );
    if (!changed) throw new GatewayError('not_found', 'There is no such alert.');
    const { before, after } = changed;
    const view = present(after, await store.firings(), await alerts.isGone(after));
    noteChange(ctx, {
      before: withoutAddresses(present(before, [])),
      after: withoutAddresses({ ...view, firing: [] }),
    });
    const secret = after.targets?.webhook?.secret ?? null;
    ctx.body = {
      ...view,
      secret: secret === before.targets?.webhook?.secret ? null : secret,
    } satisfies CreatedAlert;
  });

  router.delete('/alerts/:alert', async (ctx) => {
    const { alert: id = '' } = ctx.params;
    const alert = await find(id);
    await store.remove(id);
    noteChange(ctx, { before: withoutAddresses(present(alert, [])) });
    ctx.body = { id, object: 'alert', deleted: true };
  });

  router.post('/alerts/:alert/test', async (ctx) => {
    const notices = await alerts.test(await find(ctx.params.alert ?? ''));
    ctx.status = 202;
    ctx.body = list(notices.map(presentNotice)) satisfies List<AlertNotice>;
  });

  router.get('/alert-notices', async (ctx) => {
    const { limit } = readInput(deliveriesQuery, ctx.query);
    ctx.body = list((await store.notices(limit)).map(presentNotice)) satisfies List<AlertNotice>;
  });
}

/** Targets that nobody can read any more have to be named again. */
function toInput({ id: _id, created: _created, targets, ...rest }: Alert) {
  return { ...rest, webhook: targets?.webhook?.url, mail: targets?.mail };
}

function withoutAbsent(change: AlertChange): AlertChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function present(alert: Alert, firings: readonly Firing[], gone = false): AlertView {
  const { id, name = null, when, workspace = null, provider = null, created, targets } = alert;
  const { unit, standard, counts } = alertKind(when);
  return {
    ...{ id, object: 'alert', name, when, workspace, provider, gone },
    above: unit === undefined ? null : (alert.above ?? standard),
    minutes: counts ? (alert.minutes ?? ALERT_MINUTES.standard) : null,
    webhook: targets ? (targets.webhook ? new URL(targets.webhook.url).host : null) : '(unreadable)',
    mail: [...(targets?.mail ?? [])],
    created_at: iso(created),
    firing: firings
      .filter((firing) => firing.alert === id)
      .map(({ subject, since, value, text }) => ({
        subject: subject || null,
        since: iso(since),
        value,
        text,
      })),
  };
}

/** The audit trail lies in Redis in clear. */
function withoutAddresses({ mail, gone: _gone, ...rest }: AlertView) {
  return { ...rest, mail: mail.length };
}

function presentNotice(notice: Notice): AlertNotice {
  const { id, alert, type, text, to, state, attempts, outcome, at, lastAt, nextAt } = notice;
  return {
    ...{ id, object: 'alert_notice', alert, type, text, to, state, attempts, outcome },
    created_at: iso(at),
    last_attempt_at: isoOrNull(lastAt),
    next_attempt_at: isoOrNull(nextAt),
  };
}
