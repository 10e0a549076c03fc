/** The person who is signed in with this browser. The page asks the gateway when it is loaded. */
import type { SignedIn } from '@sluice/shared/admin-api';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { AdminClient } from './admin-client.js';

const RETRY_MS = 2_000;
const PLACE = 'sluice-place';
const LINK = /^#\/sign-in\/([\w-]+)$/;
const FAILED = /^#\/sign-in-failed\/(\w+)$/;
const FAILURES: Readonly<Record<string, string>> = {
  no_role: 'None of your groups has a role here. Ask an admin of this gateway for one.',
  unreachable: 'The sign-in provider cannot be reached. Try again in a moment, or use a token.',
};

export type Person = NonNullable<SignedIn['person']>;

interface State {
  /** Null: nobody. Undefined: not known yet. */
  person?: Person | null;
  /** Why nobody is, or why that is not known. */
  problem?: string;
  /** What the button says that leads to single sign-on; null: there is none. */
  oidc?: string | null;
}

export function useSignedIn() {
  const [state, setState] = useState<State>({});
  const [link, setLink] = useState(takeLink);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const failure = takeFailure();
    const ask = () =>
      new AdminClient(() => {}).get<SignedIn>('/session').then(
        ({ person, oidc }) => {
          if (person) returnToPlace();
          setState({ person, oidc, ...(failure === undefined ? {} : { problem: failure }) });
        },
        () => {
          setState({ problem: 'The gateway does not answer.' });
          timer = setTimeout(ask, RETRY_MS);
        },
      );
    ask();
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const follow = () => setLink((before) => takeLink() ?? before);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);

  const become = useCallback(
    (next: Omit<State, 'oidc'>) => setState(({ oidc = null }) => ({ ...next, oidc })),
    [],
  );
  const signIn = useCallback((person: Person | null) => {
    setLink(undefined);
    become({ person });
  }, []);
  const way = state.person?.way;
  const onEnded = useCallback(() => {
    if (way !== 'proxy') return become({ person: null, problem: 'Your session has ended. Sign in again.' });
    // The proxy in front signs people in when the page itself is asked for.
    rememberPlace();
    location.reload();
  }, [way]);
  /** Throws an AdminError while the session may still be valid: nobody must believe that they are signed out then. */
  const signOut = useCallback(async () => {
    const end = () => new AdminClient(() => {}).send('DELETE', '/session');
    // The first try may fail because the machine has just changed its network.
    await end().catch(end);
    become({ person: null });
  }, []);
  return { ...state, link, signIn, signOut, onEnded };
}

/** The secret of a sign-in link. It leaves the address at once, so that it is in no history and no picture. */
function takeLink(): string | undefined {
  const [, secret] = LINK.exec(location.hash) ?? [];
  if (secret !== undefined) history.replaceState(null, '', '#/live');
  return secret;
}

function takeFailure(): string | undefined {
  const [, code] = FAILED.exec(location.hash) ?? [];
  if (code === undefined) return undefined;
  history.replaceState(null, '', '#/live');
  return FAILURES[code] ?? 'The sign-in did not work. Try again.';
}

/** Before the page is left for the sign-in provider. */
export function rememberPlace(): void {
  sessionStorage.setItem(PLACE, location.hash);
}

function returnToPlace(): void {
  const place = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (place?.startsWith('#/') && location.hash === '') location.replace(place);
}
