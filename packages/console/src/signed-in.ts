/** Who is signed in with this browser. The gateway knows; the page asks it when it is loaded. */
import type { SignedIn } from '@sluice/shared/admin-api';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { AdminClient } from './admin-client.js';

const RETRY_MS = 2_000;
const LINK = /^#\/sign-in\/([\w-]+)$/;

export type Person = NonNullable<SignedIn['person']>;

interface State {
  /** Null: nobody. Undefined: not known yet. */
  person?: Person | null;
  /** Why nobody is, or why that is not known. */
  trouble?: string;
}

export function useSignedIn() {
  const [state, setState] = useState<State>({});
  const [link, setLink] = useState(takeLink);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () =>
      new AdminClient(() => {}).get<SignedIn>('/session').then(
        ({ person }) => setState({ person }),
        () => {
          setState({ trouble: 'The gateway does not answer.' });
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

  const signIn = useCallback((person: Person | null) => {
    setLink(undefined);
    setState({ person });
  }, []);
  const onEnded = useCallback(
    () => setState({ person: null, trouble: 'Your session has ended. Sign in again.' }),
    [],
  );
  const signOut = useCallback(async () => {
    await new AdminClient(() => {}).send('DELETE', '/session').catch(() => {});
    setState({ person: null });
  }, []);
  return { ...state, link, signIn, signOut, onEnded };
}

/** The secret of a sign-in link. It leaves the address at once, so that it is in no history and no picture. */
function takeLink(): string | undefined {
  const [, secret] = LINK.exec(location.hash) ?? [];
  if (secret !== undefined) history.replaceState(null, '', '#/live');
  return secret;
}
