import type { PlacedRoute, ProviderStatus } from '@sluice/shared/admin-api';
import { MAX_MODELS } from '@sluice/shared/contract/route';
import { useLayoutEffect, useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { Dialog } from '../../ui/dialog.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';
import { explainFailure, Notice } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { useSubmit } from '../../ui/use-submit.js';
import { EntryRow } from './entry-row.js';
import {
  blankEntry,
  type EntryForm,
  firstMissing,
  isMember,
  isSame,
  type KnownModels,
  mistakesOf,
  moved,
  type RouteForm,
  titlesOf,
  toChain,
  toRouteForm,
  without,
} from './route-form.js';

interface RouteDialogProps {
  first: RouteForm;
  isNew: boolean;
  workspaces: string[];
  routes: PlacedRoute[];
  providers: ProviderStatus[];
  known: KnownModels | undefined;
  onClose(): void;
  onSaved(): void;
}

const CRASH = [
  ['rerun', 'Another worker calls again'],
  ['fail', 'The request fails: never two calls'],
  ['resume', 'Another worker asks for the answer, where the provider can'],
] as const;

/** Of a route that was not asked for it before. */
const USUAL_PREFIX_TOKENS = 2_000;
const PREFIXES = [
  ['anywhere', 'They go anywhere'],
  ['together', 'They go where their beginning is cached'],
] as const;
const BATCHES = [
  ['lines', 'Lines run one by one, with fallback'],
  ['provider', 'The first provider’s batch API takes them, at its batch price'],
] as const;

/** The whole route is sent at once, and only when nothing is wrong with it: nothing is ever saved half. */
export function RouteDialog({
  first,
  isNew,
  workspaces,
  routes,
  providers,
  known,
  onClose,
  onSaved,
}: RouteDialogProps) {
  /** What the person was shown before the first change. */
  const [base, setBase] = useState(first);
  const [form, setForm] = useState(first);
  const action = useAction();
  const names = providers.map(({ name }) => name);
  const mistakes = mistakesOf(form, names);
  const taken =
    isNew && routes.some(({ workspace, id }) => workspace === form.workspace && id === form.alias);
  if (taken) mistakes.set('alias', 'There is a route with this name; edit that one');
  const now = routes.find(({ workspace, id }) => workspace === first.workspace && id === first.alias);
  const isNewest = now !== undefined && isSame(base, now);
  const isStale = !isNew && !action.busy && !isNewest;
  // Somebody who edits a route again at once may see it as it was before: the page has not read it anew yet.
  useLayoutEffect(() => {
    if (isNew || isNewest || !now || form !== base) return;
    const newest = toRouteForm(now);
    setBase(newest);
    setForm(newest);
  }, [isNewest]);
  const hides = known?.direct.some(({ id }) => id === form.alias) ?? false;
  const titles = titlesOf(form.chain);
  const setEntry = (i: number) => (entry: EntryForm) =>
    setForm({ ...form, chain: form.chain.map((each, at) => (at === i ? entry : each)) });

  const save = async () => {
    const url = path`/workspaces/${form.workspace}/routes/${form.alias}`;
    const route = {
      chain: toChain(form.chain),
      on_crash: form.on_crash,
      provider_batches: form.provider_batches,
      warm_prefix_tokens: form.warm_prefix_tokens,
    };
    // It replaces what the person was shown, and nothing else. The page shows within seconds what somebody else has done.
    const seen: Record<string, string> = now ? { 'if-match': `"${now.version}"` } : { 'if-none-match': '*' };
    if (await action.run(async (client) => void (await client.send('PUT', url, route, seen)))) onSaved();
  };
  const { onSubmit, isTried, shown } = useSubmit(mistakes.size === 0, save);

  return (
    <Dialog title={isNew ? 'New route' : `Route ${form.alias}`} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        {isNew && (
          <div class="grid">
            <Pick
              label="Workspace"
              value={form.workspace}
              values={workspaces}
              onChange={(workspace) => setForm({ ...form, workspace })}
            />
            <Field
              label="Name"
              value={form.alias}
              onInput={(alias) => setForm({ ...form, alias: alias.trim() })}
              mistake={shown(form.alias, mistakes.get('alias'))}
              hint={
                hides
                  ? 'Hides the model of the same name in this workspace'
                  : 'Callers send this name as model'
              }
            />
          </div>
        )}
        <ol class="plain stack">
          {form.chain.map((entry, i) => (
            <EntryRow
              key={entry.key}
              number={i + 1}
              title={titles[i] ?? ''}
              isMember={isMember(form.chain, i)}
              count={form.chain.length}
              entry={entry}
              mistakeOf={(field) => mistakes.get(`chain[${i}].${field}`)}
              isTried={isTried}
              providers={providers}
              known={known}
              onChange={setEntry(i)}
              onDrop={(from) => setForm({ ...form, chain: moved(form.chain, from, i - from) })}
              onMove={(by) => setForm({ ...form, chain: moved(form.chain, i, by) })}
              onRemove={() => setForm({ ...form, chain: without(form.chain, i) })}
            />
          ))}
        </ol>
        {form.chain.length < MAX_MODELS && (
          <div>
            <button type="button" onClick={() => setForm({ ...form, chain: [...form.chain, blankEntry()] })}>
              Add an entry to fall back on
            </button>
          </div>
        )}
        <Select
          label="When a worker dies in mid-call"
          value={form.on_crash}
          choices={CRASH}
          onChange={(on_crash) => setForm({ ...form, on_crash })}
        />
        <Select
          label="Batches"
          value={form.provider_batches ? 'provider' : 'lines'}
          choices={BATCHES}
          onChange={(way) => setForm({ ...form, provider_batches: way === 'provider' })}
        />
        <Select
          label="Prompts that begin alike"
          value={form.warm_prefix_tokens === null ? 'anywhere' : 'together'}
          choices={PREFIXES}
          onChange={(way) =>
            setForm({
              ...form,
              warm_prefix_tokens:
                way === 'together' ? (form.warm_prefix_tokens ?? USUAL_PREFIX_TOKENS) : null,
            })
          }
        />
        <p class="hint">
          If gateway.yaml has this route, the next <code>sluice apply</code> or <code>npm start</code> brings
          back the chain of the file.
        </p>
        {isStale && (
          <Notice tone="warn">
            {now
              ? 'Somebody has changed this route since you opened it; saving replaces what they did.'
              : 'Somebody has deleted this route since you opened it; saving creates it again.'}
          </Notice>
        )}
        {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
        <div class="dialog-end">
          <p class="muted" aria-live="polite">
            {mistakes.get('chain') ??
              (mistakes.size > 0 ? `Not complete yet: ${firstMissing(mistakes)}` : '')}
          </p>
          <button type="submit" class="primary" disabled={action.busy}>
            Save route
          </button>
        </div>
      </form>
    </Dialog>
  );
}
