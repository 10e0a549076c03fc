/** The console: signed in or not, which page, and whether the gateway answers. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { AdminClient, type AdminError } from './admin-client.js';
import { timeOfDay } from './format.js';
import { type Place, usePlace } from './location.js';
import { Navigation } from './navigation.js';
import { fetchAhead, findPage, type PageComponent } from './pages.js';
import { FollowLink, SignIn } from './sign-in.js';
import { type Person, useSignedIn } from './signed-in.js';
import { type Theme, useTheme } from './theme.js';
import { useTimeZone } from './time-zone.js';
import { Firing } from './ui/firing.js';
import { Empty, Loading } from './ui/small.js';
import { type Session, SessionContext } from './use-poll.js';

export function App() {
  useEffect(() => {
    fetchAhead();
  }, []);
  const theme = useTheme();
  const zone = useTimeZone();
  const { person, problem, oidc, link, signIn, signOut, onEnded } = useSignedIn();
  if (person === undefined)
    return problem === undefined ? <Splash /> : <Empty title={problem}>Trying again …</Empty>;
  if (link !== undefined) return <FollowLink link={link} oidc={oidc} person={person} onSignedIn={signIn} />;
  if (person === null) return <SignIn problem={problem} oidc={oidc} onSignedIn={signIn} />;
  if (person.grants.length === 0)
    return (
      <Empty title="You have no role here.">
        You are known as {person.name}, and none of your groups has a role. Ask an admin of this gateway.
      </Empty>
    );
  return <Console person={person} onEnded={onEnded} onSignOut={signOut} theme={theme} zone={zone} />;
}

/** What the page shows before its first script has come. */
function Splash() {
  return (
    <p class="splash" role="status" aria-label="Loading">
      <img src="/console/icon.svg" alt="" width="32" height="32" /> Sluice
    </p>
  );
}

interface ConsoleProps {
  person: Person;
  onEnded(): void;
  onSignOut(): Promise<void>;
  theme: [Theme, (theme: Theme) => void];
  zone: [zone: string, choose: (zone: string) => void];
}

function Console({ person, onEnded, onSignOut, theme, zone }: ConsoleProps) {
  const place = usePlace();
  const [lost, setLost] = useState<{ at: number; what: string } | undefined>();
  const session = useMemo<Session>(() => {
    const report = (error: AdminError | undefined) =>
      setLost((before) =>
        error?.isAway ? { at: before?.at ?? Date.now(), what: whatIsLost(error) } : undefined,
      );
    return { client: new AdminClient(onEnded), person, report };
  }, [onEnded, person]);
  const page = findPage(place.page);
  const [isStillIn, setStillIn] = useState(false);
  const signOut = async () => {
    setStillIn(false);
    await onSignOut().catch(() => setStillIn(true));
  };
  return (
    <SessionContext.Provider value={session}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <Navigation place={place} person={person} onSignOut={signOut} theme={theme} zone={zone} />
      <main id="main" tabIndex={-1}>
        <div class="alerts" aria-live="assertive">
          {lost && (
            <div class="notice bad lost">
              {lost.what} at {timeOfDay(lost.at)}. What is shown may be from before; trying again …
            </div>
          )}
          {isStillIn && (
            <div class="notice bad">You are still signed in: the gateway did not answer. Try again.</div>
          )}
        </div>
        <Firing page={place.page} />
        {page ? (
          <LazyPage key={`${place.page} ${zone[0]}`} place={place} load={page.load} />
        ) : (
          <Empty title="There is no such page.">
            <a href="#/live">Go to Live</a>
          </Empty>
        )}
      </main>
    </SessionContext.Provider>
  );
}

function whatIsLost({ code }: AdminError): string {
  return code === 'service_unavailable'
    ? 'The gateway lost contact with its Redis'
    : 'Lost contact with the gateway';
}

function LazyPage({ place, load }: { place: Place; load(): Promise<PageComponent> }) {
  const [loaded, setLoaded] = useState<{ Page: PageComponent } | 'failed' | undefined>();
  useEffect(() => {
    load().then(
      (Page) => setLoaded({ Page }),
      () => setLoaded('failed'),
    );
  }, [load]);
  if (loaded === undefined) return <Loading />;
  if (loaded === 'failed')
    // A browser does not ask again for a module that it could not get.
    return (
      <Empty title="This page could not be loaded.">
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    );
  return <loaded.Page place={place} />;
}
