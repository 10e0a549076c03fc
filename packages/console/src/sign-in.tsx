import { useEffect, useRef, useState } from 'preact/hooks';
import { AdminClient, type AdminError, asAdminError } from './admin-client.js';
import { Notice } from './ui/small.js';

/** What a header can carry; anything else cannot be a token. */
const SENDABLE = /^[\x21-\x7e]+$/;

export function SignIn({ wasRefused, onToken }: { wasRefused: boolean; onToken(token: string): void }) {
  const [token, setToken] = useState('');
  const [error, setError] = useState<AdminError | undefined>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Sluice';
    input.current?.focus();
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      if (!SENDABLE.test(token)) throw new Error('An admin token has neither spaces nor special letters.');
      await new AdminClient(token, () => {}).get('/status');
      onToken(token);
    } catch (fault) {
      setError(asAdminError(fault));
      setBusy(false);
    }
  };

  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>
          <img src="/console/icon.svg" alt="" width="32" height="32" /> Sluice
        </h1>
        <p class="muted">The console of this gateway, for its operators.</p>
        {error ? (
          <Notice tone="bad">{explain(error)}</Notice>
        ) : (
          wasRefused && (
            <Notice tone="bad">
              The gateway no longer accepts this token. It may have been changed; sign in with the new one.
            </Notice>
          )
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
        <button type="submit" class="primary" disabled={busy || token === ''}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <p id="token-hint" class="hint">
          It is the gateway’s <code>ADMIN_TOKEN</code>; <code>npm start</code> keeps the one it makes in{' '}
          <code>.sluice/admin-token</code>. This page holds it in memory only: not in a cookie, not in
          storage, not in an address. A reload asks for it again.
        </p>
      </form>
    </main>
  );
}

function explain({ code, status, message }: AdminError): string {
  if (status === 401) return 'This is not the admin token of this gateway.';
  if (code === 'page_fault') return message.replace(/^Error: /, '');
  if (status >= 500)
    return 'The token is right, but the gateway cannot reach its Redis. Try again in a moment.';
  return message;
}
