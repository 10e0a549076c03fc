import type { AlertView, List } from '@sluice/shared/admin-api';
import { moment } from '../format.js';
import { hasRole } from '../permissions.js';
import { usePoll, useSession } from '../use-poll.js';
import { Notice } from './small.js';

const EVERY_MS = 10_000;
const MOST = 3;

/** The pages that are about what a kind of alert is about. Live is about everything. */
const KINDS: Readonly<Record<string, readonly AlertView['when'][]>> = {
  live: ['budget', 'failure_rate', 'refusals', 'waiting_time', 'provider_down', 'batch_late'],
  requests: ['failure_rate', 'refusals'],
  providers: ['waiting_time', 'provider_down'],
  spend: ['budget'],
  workspaces: ['budget'],
  batches: ['batch_late'],
};

/** The alerts that fire and concern the page. */
export function Firing({ page }: { page: string }) {
  const { person } = useSession();
  const kinds = KINDS[page];
  return kinds && hasRole(person, 'viewer') ? <FiringOf kinds={kinds} /> : null;
}

function FiringOf({ kinds }: { kinds: readonly AlertView['when'][] }) {
  const { data } = usePoll('alerts', EVERY_MS, (client, signal) =>
    client.get<List<AlertView>>('/alerts', signal),
  );
  const firing = (data?.data ?? [])
    .filter(({ when }) => kinds.includes(when))
    .flatMap(({ firing }) => firing);
  if (firing.length === 0) return null;
  return (
    <Notice tone="warn">
      {firing.slice(0, MOST).map(({ text, since }) => (
        <p key={text}>
          <strong>{text}</strong> Since {moment(since)}.
        </p>
      ))}
      <a href="#/alerts">{firing.length > MOST ? `All ${firing.length} that fire` : 'Alerts'}</a>
    </Notice>
  );
}
