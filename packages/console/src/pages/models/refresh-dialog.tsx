import { useState } from 'preact/hooks';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';

interface Refresh {
  applied: boolean;
  version: string;
  diff: { reasons: string[]; counts: Record<string, number> };
}

interface RefreshProps {
  source: string;
  onClose(): void;
  onDone(): void;
}

/** Shows first what would change. The second step does it. */
export function RefreshDialog({ source, onClose, onDone }: RefreshProps) {
  const [url, setUrl] = useState(/^https?:/.test(source) ? source : '');
  const [plan, setPlan] = useState<Refresh | undefined>();
  const action = useAction();
  const isValid = URL.canParse(url) && /^https?:/.test(url);
  const { onSubmit, shown } = useSubmit(isValid, () => {
    action.run(async (client) => {
      if (plan) {
        await client.send<Refresh>('POST', '/models/refresh', { url, confirm: true });
        onDone();
      } else setPlan(await client.send<Refresh>('POST', '/models/refresh', { url, dry_run: true }));
    });
  });
  const counts = Object.entries(plan?.diff.counts ?? {}).filter(
    ([what, count]) => what !== 'wild' && count > 0,
  );
  return (
    <Dialog title="Refresh the registry" onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <Field
          label="Address of the registry"
          type="url"
          value={url}
          onInput={(value) => {
            setUrl(value.trim());
            setPlan(undefined);
          }}
          mistake={shown(url, isValid ? undefined : 'An address that begins with https:// or http://')}
          hint="A document of models and prices. The gateway reads it; your overrides stay."
        />
        {plan && (
          <Notice tone={plan.diff.reasons.length > 0 ? 'warn' : 'info'}>
            {counts.length === 0
              ? 'Nothing would change.'
              : `This would change: ${counts.map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`).join(', ')}.`}
            {plan.diff.reasons.length > 0 && ` Look twice: ${plan.diff.reasons.join('; ')}.`}
          </Notice>
        )}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class={plan ? 'danger' : 'primary'} disabled={action.busy}>
            {plan ? 'Refresh the registry now' : 'Show what would change'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
