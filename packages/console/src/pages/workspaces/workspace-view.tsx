import type { DirectoryOverview, LimitsInUse, Spend, Workspace } from '@sluice/shared/admin-api';
import { type Budget, budgetWords, type ScopedBudgetList, sameBudget } from '@sluice/shared/contract/budget';
import { chainText } from '@sluice/shared/contract/chain';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { count, counted, date, usd } from '../../format.js';
import { formatPlace, goTo } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Confirm } from '../../ui/confirm.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { type Polled, usePoll } from '../../use-poll.js';
import { IssueDialog } from '../keys/issue-dialog.js';
import { KeyTable } from '../keys/key-table.js';
import { BudgetDialog } from './budget-dialog.js';
import { BudgetsSection } from './budgets-section.js';
import { DeleteDialog } from './delete-dialog.js';
import { EraseUserDialog } from './erase-user-dialog.js';
import { LimitsDialog } from './limits-dialog.js';
import { LimitsSection } from './limits-section.js';
import { SettingsDialog } from './settings-dialog.js';

const EVERY_MS = 5_000;

type Doing = 'limits' | 'budget' | 'settings' | 'issue' | 'erase user' | 'delete';

/** One workspace: what it may use, what it has used, and who and what belongs to it. */
export function WorkspaceView({ id, directory }: { id: string; directory: Polled<DirectoryOverview> }) {
  const [doing, setDoing] = useState<Doing | undefined>();
  const [removing, setRemoving] = useState<Budget | undefined>();
  const may = useMay();
  const month = new Date().toISOString().slice(0, 7);
  const use = usePoll(`workspace ${id}`, EVERY_MS, async (client, signal) => {
    const [limits, spend, budgets] = await Promise.all([
      client.get<LimitsInUse>(path`/workspaces/${id}/limits`, signal),
      client.get<Spend>(`/spend?month=${month}&by=workspace&workspace=${encodeURIComponent(id)}`, signal),
      client.get<ScopedBudgetList>(path`/workspaces/${id}/budgets`, signal),
    ]);
    return { limits, spend, budgets };
  });
  const workspace = directory.data?.workspaces.find((each) => each.id === id);
  if (!directory.data || !workspace)
    return (
      <Page title={id}>
        {directory.data ? (
          <Empty title="There is no workspace with this id.">
            <a href="#/workspaces">All workspaces</a>
          </Empty>
        ) : (
          <Waiting polled={directory} />
        )}
      </Page>
    );
  const keys = directory.data.keys.filter((key) => key.workspace === id);
  const routes = directory.data.routes.filter((route) => route.workspace === id);
  const close = () => setDoing(undefined);
  const done = () => {
    close();
    directory.reload();
    use.reload();
  };
  const button = (what: Doing, text: string) => (
    <button type="button" class="small" onClick={() => setDoing(what)}>
      {text}
    </button>
  );
  return (
    <Page
      title={id}
      intro={
        <>
          {workspace.name === id ? '' : `${workspace.name}. `}A workspace since {date(workspace.created_at)}.{' '}
          {workspace.shard === undefined ? '' : `It lives in shard ${workspace.shard}. `}
          <a href="#/workspaces">All workspaces</a>
        </>
      }
      actions={may('admin') && button('settings', 'Change name and models')}
    >
      <section class="card" aria-labelledby="limits">
        <div class="page-head">
          <h2 id="limits">Limits and budget</h2>
          {may('admin') && use.data && button('limits', 'Change limits')}
        </div>
        {use.data ? <LimitsSection limits={use.data.limits} /> : <Waiting polled={use} />}
        {use.data && <SpentThisMonth id={id} month={month} spend={use.data.spend} />}
        <AllowedModels workspace={workspace} />
      </section>
      <section class="card" aria-labelledby="budgets">
        <div class="page-head">
          <h2 id="budgets">Budgets of keys, end users, tags and runs</h2>
          {may('admin') && use.data && button('budget', 'Add a budget')}
        </div>
        {use.data ? (
          <BudgetsSection
            budgets={use.data.limits.budgets ?? []}
            states={use.data.budgets}
            onRemove={may('admin') ? (budget) => setRemoving(budget) : undefined}
          />
        ) : (
          <Waiting polled={use} />
        )}
      </section>
      <section aria-labelledby="keys">
        <div class="page-head">
          <h2 id="keys">Keys</h2>
          {may('admin', id) && button('issue', 'Issue a key')}
        </div>
        {keys.length === 0 ? (
          <Empty title="No key yet.">Issue one, and give it to a program that should call the gateway.</Empty>
        ) : (
          <KeyTable keys={keys} ofOneWorkspace onChanged={directory.reload} />
        )}
      </section>
      <section class="card" aria-labelledby="routes">
        <h2 id="routes">Routes</h2>
        {routes.length === 0 ? (
          <p class="muted">None: its callers name model ids directly.</p>
        ) : (
          <ul class="plain">
            {routes.map((route) => (
              <li key={route.id}>
                <a href={formatPlace({ page: 'routes', query: { workspace: id, search: route.id } })}>
                  {route.id}
                </a>{' '}
                <span class="muted wrap">{chainText(route.chain)}</span>
              </li>
            ))}
          </ul>
        )}
        <p class="small-print">
          <a href={formatPlace({ page: 'routes', query: { workspace: id } })}>Change its routes</a>
        </p>
      </section>
      {may('admin', id) && (
        <section class="card row" aria-label="Erase and delete">
          {button('erase user', 'Erase an end user')}
          {may('admin') && (
            <button type="button" class="small danger" onClick={() => setDoing('delete')}>
              Delete the workspace
            </button>
          )}
        </section>
      )}
      {doing === 'limits' && use.data && (
        <LimitsDialog workspace={id} limits={use.data.limits} onClose={close} onDone={done} />
      )}
      {doing === 'budget' && use.data && (
        <BudgetDialog workspace={id} budgets={use.data.limits.budgets ?? []} onClose={close} onDone={done} />
      )}
      {removing && use.data && (
        <Confirm
          title="Remove the budget?"
          verb="Remove it"
          onClose={() => setRemoving(undefined)}
          work={async (client) => {
            const budgets = (use.data?.limits.budgets ?? []).filter((each) => !sameBudget(each, removing));
            await client.send('PATCH', path`/workspaces/${id}/limits`, { budgets });
          }}
          onDone={() => {
            setRemoving(undefined);
            use.reload();
          }}
        >
          <p>
            {usd(removing.usd)} for {budgetWords(removing)}. What was spent of it is forgotten when its window
            ends.
          </p>
        </Confirm>
      )}
      {doing === 'settings' && <SettingsDialog workspace={workspace} onClose={close} onDone={done} />}
      {doing === 'issue' && <IssueDialog workspaces={[id]} workspace={id} onClose={done} />}
      {doing === 'erase user' && <EraseUserDialog workspace={id} onClose={close} />}
      {doing === 'delete' && (
        <DeleteDialog
          id={id}
          onClose={close}
          onDone={() => {
            goTo({ page: 'workspaces' });
            directory.reload();
          }}
        />
      )}
    </Page>
  );
}

function SpentThisMonth({ id, month, spend }: { id: string; month: string; spend: Spend }) {
  const { requests, cost_usd } = spend.total;
  return (
    <p class="small-print">
      {month}: {counted(requests, 'request')} for {usd(cost_usd)}.{' '}
      <a href={formatPlace({ page: 'spend' })}>Spend</a>{' '}
      <a href={formatPlace({ page: 'requests', query: { workspace: id } })}>Requests</a>
    </p>
  );
}

function AllowedModels({ workspace: { models } }: { workspace: Workspace }) {
  return (
    <p class="small-print wrap">
      {models === null
        ? 'Its callers may name all models.'
        : `Its callers may name ${count(models.length)}: ${models.join(', ')}.`}
    </p>
  );
}
