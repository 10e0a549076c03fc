/**
 * Data that is read again and again while its page is open. A failed reading keeps the last one and is tried again soon;
 * nothing is read while nobody looks at the tab, and at once when somebody does again. What takes long to read is read
 * less often: a console must not become the gateway's main caller. But one slow reading may be a pause of the machine, so
 * the page never rests for longer than a minute.
 */
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { type AdminClient, type AdminError, asAdminError } from './admin-client.js';
import type { Person } from './signed-in.js';

const RETRY_MS = 2_000;
/** At most a tenth of the time is spent reading. */
const REST_PER_READING = 9;
const MAX_REST_MS = 60_000;

export interface Session {
  client: AdminClient;
  person: Person;
  /** Whether the last call got an answer. */
  report(error: AdminError | undefined): void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('nobody is signed in');
  return session;
}

export interface Polled<T> {
  data: T | undefined;
  error: AdminError | undefined;
  reload(): void;
}

/** Everything that `load` depends on is in `key`; another key is another question. `everyMs` 0: only once. */
export function usePoll<T>(
  key: string,
  everyMs: number,
  load: (client: AdminClient, signal: AbortSignal) => Promise<T>,
): Polled<T> {
  const { client, report } = useSession();
  const [state, setState] = useState<{ key: string; data?: T; error?: AdminError }>({ key });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = (ms: number) => {
      if (!stop.signal.aborted && ms > 0) timer = setTimeout(read, ms);
    };
    const read = async () => {
      if (document.hidden) {
        const back = () => !document.hidden && resume();
        const resume = () => {
          document.removeEventListener('visibilitychange', back);
          read();
        };
        return document.addEventListener('visibilitychange', back, { signal: stop.signal });
      }
      const began = performance.now();
      try {
        const data = await latest.current(client, stop.signal);
        if (stop.signal.aborted) return;
        setState({ key, data });
        report(undefined);
        const rest = Math.min(MAX_REST_MS, REST_PER_READING * (performance.now() - began));
        if (everyMs > 0) next(Math.max(everyMs, rest));
      } catch (thrown) {
        if (stop.signal.aborted) return;
        const error = asAdminError(thrown);
        setState((before) => ({ ...(before.key === key ? before : {}), key, error }));
        report(error);
        if (error.isAway) next(RETRY_MS);
      }
    };
    read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [client, report, key, everyMs, round]);

  const reload = useCallback(() => setRound((n) => n + 1), []);
  // The answer to another question is not shown.
  return {
    data: state.key === key ? state.data : undefined,
    error: state.key === key ? state.error : undefined,
    reload,
  };
}
