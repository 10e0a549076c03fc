import type { AlertView, CreatedAlert, DirectoryOverview } from '@sluice/shared/admin-api';
import {
  ALERT_KIND_NAMES,
  ALERT_MINUTES,
  type AlertKindName,
  alertInput,
  alertKind,
  alertText,
} from '@sluice/shared/contract/alert';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { Secret } from '../../ui/secret.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { ruleMistake } from '../rules.js';

const { mail: mailRule } = alertInput.schema;
const KINDS = ALERT_KIND_NAMES.map((name) => [name, alertText(name)] as const);

interface AlertDialogProps {
  /** The one to change. Undefined: a new one. */
  alert?: AlertView;
  directory: DirectoryOverview | undefined;
  onClose(): void;
}

export function AlertDialog({ alert, directory, onClose }: AlertDialogProps) {
  const [when, setWhen] = useState<AlertKindName>(alert?.when ?? 'budget');
  const [above, setAbove] = useState(String(alert?.above ?? ''));
  const [minutes, setMinutes] = useState(String(alert?.minutes ?? ''));
  const [only, setOnly] = useState(alert?.workspace ?? alert?.provider ?? '');
  const [webhook, setWebhook] = useState('');
  const [keepsWebhook, setKeepsWebhook] = useState(alert !== undefined && alert.webhook !== null);
  const [mail, setMail] = useState(alert?.mail.join(', ') ?? '');
  const [name, setName] = useState(alert?.name ?? '');
  const [created, setCreated] = useState<CreatedAlert | undefined>();
  const action = useAction();
  const { unit, standard, min, max, of, counts } = alertKind(when);
  const addresses = mail.split(/[\s,;]+/).filter((each) => each !== '');
  const mistakes = {
    above: numberMistake(above, min, max),
    minutes: numberMistake(minutes, ALERT_MINUTES.min, ALERT_MINUTES.max),
    webhook:
      webhook === ''
        ? addresses.length === 0 && !keepsWebhook
          ? 'An address here, or one to mail to'
          : undefined
        : URL.canParse(webhook)
          ? undefined
          : 'An address with https',
    mail:
      addresses.length === 0 || ruleMistake(mailRule, addresses) === undefined
        ? undefined
        : 'At most 10 mail addresses, with commas between them',
  };
  const isValid = Object.values(mistakes).every((mistake) => mistake === undefined);
  const { onSubmit, shown } = useSubmit(isValid, () => {
    // The address of a webhook is not shown, so that an empty field can be either.
    const fields = {
      name: name === '' ? null : name,
      above: above === '' || unit === undefined ? null : Number(above),
      minutes: minutes === '' || !counts ? null : Number(minutes),
      [of]: only === '' ? null : only,
      mail: addresses.length === 0 ? null : addresses,
      ...(webhook === '' && keepsWebhook ? {} : { webhook: webhook === '' ? null : webhook }),
    };
    action.run(async (client) =>
      setCreated(
        alert
          ? await client.send<CreatedAlert>('PATCH', path`/alerts/${alert.id}`, changesOf(alert, fields))
          : await client.send<CreatedAlert>('POST', '/alerts', { when, ...fields }),
      ),
    );
  });
  const choose = (kind: AlertKindName) => {
    setWhen(kind);
    setAbove('');
    setOnly('');
  };
  if (created?.secret)
    return (
      <Dialog title="The webhook’s secret" onClose={onClose}>
        <Secret what="secret" value={created.secret} onClose={onClose} />
      </Dialog>
    );
  if (created)
    return (
      <Dialog title="The alert is set" onClose={onClose}>
        <Saved onClose={onClose} />
      </Dialog>
    );
  const names =
    of === 'workspace' ? (directory?.workspaces ?? []).map(({ id }) => id) : (directory?.providers ?? []);
  return (
    <Dialog title={alert ? 'Change the alert' : 'Add an alert'} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        {alert ? (
          <p>Tell me when {alertText(when)}</p>
        ) : (
          <Select label="Tell me when" value={when} choices={KINDS} onChange={choose} />
        )}
        {unit !== undefined && (
          <Field
            label={`From how many ${unit}`}
            value={above}
            onInput={setAbove}
            inputMode="decimal"
            placeholder={String(standard)}
            mistake={mistakes.above}
          />
        )}
        {counts && (
          <Field
            label="In how many minutes"
            value={minutes}
            onInput={setMinutes}
            inputMode="numeric"
            placeholder={String(ALERT_MINUTES.standard)}
            mistake={mistakes.minutes}
          />
        )}
        <Pick
          label={of === 'workspace' ? 'Workspace' : 'Provider'}
          value={only}
          values={names}
          none={counts ? 'All together' : 'Any'}
          onChange={setOnly}
        />
        <Field
          label="Mail to"
          value={mail}
          onInput={setMail}
          mistake={shown(mail, mistakes.mail)}
          hint="Addresses with commas between them; the gateway needs SMTP_URL for it"
        />
        <Field
          label="Webhook"
          value={webhook}
          onInput={setWebhook}
          mistake={shown(webhook, mistakes.webhook)}
          placeholder={keepsWebhook ? `Now at ${alert?.webhook}` : undefined}
          hint={
            keepsWebhook
              ? 'Leave it empty to keep the address. Another one gets another secret'
              : 'An address with https that gets a signed POST'
          }
        />
        {alert?.webhook && (
          <label class="check">
            <input
              type="checkbox"
              checked={!keepsWebhook}
              onChange={({ currentTarget }) => setKeepsWebhook(!currentTarget.checked)}
            />
            Send nothing to {alert.webhook} any more
          </label>
        )}
        <Field label="Name" value={name} onInput={setName} hint="For people; optional" />
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            {alert ? 'Save the alert' : 'Add the alert'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What differs from the alert as it was shown, so that another's change of the rest stays. */
function changesOf(alert: AlertView, fields: Record<string, unknown>): Record<string, unknown> {
  const before: Record<string, unknown> = { ...alert, mail: alert.mail.length === 0 ? null : alert.mail };
  const differs = ([name, value]: [string, unknown]) =>
    name === 'webhook' || JSON.stringify(value) !== JSON.stringify(before[name]);
  return Object.fromEntries(Object.entries(fields).filter(differs));
}

/** Within the dialog that was there: a new one would not know where the focus came from. */
function Saved({ onClose }: { onClose(): void }) {
  return (
    <div class="stack">
      <Notice tone="good">
        The gateway checks it every ten seconds. “Send a test” shows whether a message arrives.
      </Notice>
      <div class="dialog-end">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  );
}

function numberMistake(text: string, min: number, max: number): string | undefined {
  const isRight = /^\d{1,12}(\.\d{1,3})?$/.test(text) && Number(text) >= min && Number(text) <= max;
  return text === '' || isRight ? undefined : `A number from ${min} to ${max}`;
}
