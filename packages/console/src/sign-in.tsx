import type { SignedIn } from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AdminClient, type AdminError, asAdminError } from './admin-client.js';
import { type Person, rememberPlace } from './signed-in.js';
import { Notice } from './ui/small.js';

/** What a token is made of; anything else cannot be one. */
const SENDABLE = /^[\x21-\x7e]+$/;

type OnSignedIn = (person: Person | null) => void;

interface SignInProps {
  problem: string | undefined;
  oidc: string | null | undefined;
  onSignedIn: OnSignedIn;
}

export function SignIn({ problem, oidc, onSignedIn }: SignInProps) {
  const [token, setToken] = useState('');
  const [mistake, setMistake] = useState<string | undefined>();
  const { signIn, error, busy } = useSignIn(onSignedIn);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);

  const submit = () => {
    const isSendable = SENDABLE.test(token);
    const why =
      token === '' ? 'Enter the admin token.' : 'An admin token has neither spaces nor special letters.';
    setMistake(isSendable ? undefined : why);
    if (isSendable) signIn({ token });
  };
  const shown = mistake ?? (error ? explain(error) : problem);
  return (
    <Card onSubmit={submit}>
      {shown !== undefined && <Notice tone="bad">{shown}</Notice>}
      {oidc && (
        <a class="button" href="/sign-in/oidc" onClick={rememberPlace}>
          Sign in with {oidc}
        </a>
      )}
      <label for="token">Admin token</label>
      <input
        id="token"
        ref={input}
        type="password"
        autocomplete="off"
        spellcheck={false}
        value={token}
        onInput={(event) => setToken(event.currentTarget.value.trim())}
        aria-describedby="token-hint"
      />
      <button type="submit" class="primary" disabled={busy}>
        {busy ? 'Signing in …' : 'Sign in'}
      </button>
      <p id="token-hint" class="hint">
        You need no token with a sign-in link: <code>npm start</code> and <code>npx sluice open</code> print
        one. The token is the gateway’s <code>ADMIN_TOKEN</code>; <code>npm start</code> keeps the one it
        makes in <code>.sluice/admin-token</code>. The page forgets it as soon as you are signed in.
      </p>
    </Card>
  );
}

interface FollowLinkProps {
  link: string;
  oidc: string | null | undefined;
  /** The person who is signed in already. */
  person: Person | null;
  onSignedIn: OnSignedIn;
}

/** A link is used at once, but not in the place of somebody who is signed in: another person may have made it. */
export function FollowLink({ link, oidc, person, onSignedIn }: FollowLinkProps) {
  const { signIn, error, busy } = useSignIn(onSignedIn);
  useEffect(() => {
    if (!person) signIn({ link });
  }, []);
  if (error && !person) return <SignIn problem={error.message} oidc={oidc} onSignedIn={onSignedIn} />;
  if (!person) return null;
  return (
    <Card onSubmit={() => signIn({ link })}>
      {error ? (
        <Notice tone="bad">{error.message}</Notice>
      ) : (
        <p>
          You are signed in as <b>{person.name}</b>. The link that you followed signs you in as the one who
          made it.
        </p>
      )}
      <button type="button" class="primary" onClick={() => onSignedIn(person)}>
        Stay signed in as {person.name}
      </button>
      <button type="submit" disabled={busy || error !== undefined}>
        Use the link
      </button>
    </Card>
  );
}

function Card({ onSubmit, children }: { onSubmit(): void; children: ComponentChildren }) {
  useEffect(() => {
    document.title = 'Sign in · Sluice';
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>
          <img src="/console/icon.svg" alt="" width="32" height="32" /> Sluice
        </h1>
        <p class="muted">The console of this gateway, for its operators.</p>
        {children}
      </form>
    </main>
  );
}

function useSignIn(onSignedIn: OnSignedIn) {
  const [state, setState] = useState<{ busy: boolean; error?: AdminError }>({ busy: false });
  const signIn = async (proof: { token: string } | { link: string }) => {
    if (state.busy) return;
    setState({ busy: true });
    try {
      onSignedIn((await new AdminClient(() => {}).send<SignedIn>('POST', '/session', proof)).person);
    } catch (thrown) {
      setState({ busy: false, error: asAdminError(thrown) });
    }
  };
  return { ...state, signIn };
}

function explain({ status, message }: AdminError): string {
  if (status === 401) return 'This is not the admin token of this gateway.';
  if (status >= 500) return 'The gateway cannot reach its Redis. Try again in a moment.';
  return message;
}
