import { useRef, useState } from 'preact/hooks';
import { type AdminClient, type AdminError, asAdminError } from '../admin-client.js';
import { useSession } from '../use-poll.js';

export interface Action {
  busy: boolean;
  error: AdminError | undefined;
  /** Does it unless it is being done already. True when it worked. */
  run(work: (client: AdminClient) => Promise<void>): Promise<boolean>;
}

/** Something that changes the gateway: one at a time, and a failure is shown where it was asked for. */
export function useAction(): Action {
  const { client } = useSession();
  // Not the state: a second click may come before the page is drawn anew.
  const busy = useRef(false);
  const [state, setState] = useState<{ busy: boolean; error?: AdminError | undefined }>({ busy: false });
  return {
    busy: state.busy,
    error: state.error,
    async run(work) {
      if (busy.current) return false;
      busy.current = true;
      setState({ busy: true });
      try {
        await work(client);
        setState({ busy: false });
        return true;
      } catch (thrown) {
        setState({ busy: false, error: asAdminError(thrown) });
        return false;
      } finally {
        busy.current = false;
      }
    },
  };
}
