import {
  BUDGET_SCOPES,
  BUDGET_WINDOWS,
  type Budget,
  budgetInput,
  budgetWords,
  sameBudget,
} from '@sluice/shared/contract/budget';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { numberMistake } from '../rules.js';

interface BudgetProps {
  workspace: string;
  budgets: readonly Budget[];
  onClose(): void;
  onDone(): void;
}

const BLANK = {
  scope: 'end_user',
  window: 'day',
  usd: '',
  mode: 'strict',
  tag: '',
  value: '',
  route: '',
  routeUsd: '',
};

/** Adds a budget, or replaces the one for the same. */
export function BudgetDialog({ workspace, budgets, onClose, onDone }: BudgetProps) {
  const [form, setForm] = useState(BLANK);
  const action = useAction();
  const set = (name: keyof typeof BLANK) => (value: string) => setForm({ ...form, [name]: value });
  const amountMistake = (text: string) =>
    text === '' ? 'is missing' : numberMistake(budgetInput.schema.usd, text);
  const window = form.scope === 'run' ? 'total' : form.window;
  const mistakes = {
    usd: amountMistake(form.usd),
    tag: form.scope === 'tag' && form.tag === '' ? 'is missing' : undefined,
    routeUsd: form.route === '' ? undefined : amountMistake(form.routeUsd),
  };
  const isValid = Object.values(mistakes).every((mistake) => mistake === undefined);
  const { onSubmit, isTried } = useSubmit(isValid, async () => {
    const budget = {
      scope: form.scope,
      window,
      usd: Number(form.usd),
      mode: form.mode,
      ...(form.scope === 'tag' ? { tag: form.tag.trim() } : {}),
      ...(form.value === '' || form.scope === 'workspace' ? {} : { value: form.value.trim() }),
      ...(form.route === '' ? {} : { when_spent: { route: form.route.trim(), usd: Number(form.routeUsd) } }),
    } as Budget;
    const change = { budgets: [...budgets.filter((each) => !sameBudget(each, budget)), budget] };
    const url = path`/workspaces/${workspace}/limits`;
    if (await action.run(async (client) => void (await client.send('PATCH', url, change)))) onDone();
  });
  const shown = (mistake: string | undefined) => (isTried ? mistake : undefined);
  const words = (scope: (typeof BUDGET_SCOPES)[number]) =>
    budgetWords({ scope, tag: 'value', window: 'total' }).replace(', in total', '');
  return (
    <Dialog title={`A budget of ${workspace}`} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        <div class="grid">
          <Select
            label="For"
            value={form.scope}
            choices={BUDGET_SCOPES.toReversed().map((scope) => [scope, words(scope)] as const)}
            onChange={set('scope')}
          />
          <Select
            label="Renews each"
            value={window}
            choices={BUDGET_WINDOWS.map((each) => [each, each === 'total' ? 'never' : each] as const)}
            onChange={set('window')}
          />
          <Field
            label="USD"
            value={form.usd}
            onInput={set('usd')}
            mistake={shown(mistakes.usd)}
            inputMode="decimal"
          />
          <Select
            label="What a request reserves"
            value={form.mode}
            choices={[
              ['strict', 'The most that it can cost'],
              ['expected', 'What it will most likely cost'],
            ]}
            onChange={set('mode')}
          />
          {form.scope === 'tag' && (
            <Field label="Tag" value={form.tag} onInput={set('tag')} mistake={shown(mistakes.tag)} />
          )}
          {form.scope !== 'workspace' && (
            <Field
              label="Only this value"
              value={form.value}
              onInput={set('value')}
              hint="Empty: each has its own"
            />
          )}
          <Field
            label="Route when spent"
            value={form.route}
            onInput={set('route')}
            hint="Empty: requests are refused"
          />
          {form.route !== '' && (
            <Field
              label="USD for that route"
              value={form.routeUsd}
              onInput={set('routeUsd')}
              mistake={shown(mistakes.routeUsd)}
              inputMode="decimal"
            />
          )}
        </div>
        {isTried && !isValid && <Notice tone="warn">Correct the marked fields first.</Notice>}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={action.busy}>
            Save the budget
          </button>
        </div>
      </form>
    </Dialog>
  );
}
