/** The providers of a file are not in Redis: every process is asked to read its own file again. */
import type { Reload, Status } from '@sluice/shared/admin-api';
import { type AdminClient, AdminRefusal } from '../admin/client.js';

const PATIENCE_MS = 5_000;
const LOOK_MS = 250;

/** In words, the processes that have found mistakes in their file; undefined when nobody could be asked. */
export async function reloadProcesses(admin: AdminClient): Promise<string[] | undefined> {
  const asked = await admin.send<Reload>('POST', '/reload').catch((error: unknown) => {
    // An older gateway, or a token that may not.
    if (error instanceof AdminRefusal && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  });
  if (!asked) return undefined;
  const since = Date.parse(asked.time);
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const { processes } = await admin.get<Status>('/status');
    // Each says every second or two how it is.
    const haveSpoken = processes.every(({ seen_at }) => Date.parse(seen_at) > since);
    if (haveSpoken || Date.now() > until)
      return processes.flatMap(({ role, host, pid, problems }) =>
        problems
          .filter((text) => text.startsWith('gateway.yaml'))
          .map((text) => `${role} ${host} ${pid}: ${text}`),
      );
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
