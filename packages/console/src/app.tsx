/** The console: signed in or not, which page, and whether the gateway answers. */
import type { FunctionComponent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { AdminClient, type AdminError } from './admin-client.js';
import { timeOfDay } from './format.js';
import { formatPlace, type Place, usePlace } from './location.js';
import { FollowLink, SignIn } from './sign-in.js';
import { type Person, useSignedIn } from './signed-in.js';
import { type Theme, useTheme } from './theme.js';
import { Empty } from './ui/small.js';
import { type Session, SessionContext } from './use-poll.js';

type PageComponent = FunctionComponent<{ place: Place }>;

/** A page's modules come when it is first wanted; while somebody signs in they are fetched ahead. */
interface PageEntry {
  name: string;
  load(): Promise<PageComponent>;
  /** Who has use for it; without this, everybody. */
  isFor?(person: Person): boolean;
}

const PAGES: Readonly<Record<string, PageEntry>> = {
  live: { name: 'Live', load: async () => (await import('./pages/live/live-page.js')).LivePage },
  requests: {
    name: 'Requests',
    load: async () => (await import('./pages/requests/requests-page.js')).RequestsPage,
  },
  routes: { name: 'Routes', load: async () => (await import('./pages/routes/routes-page.js')).RoutesPage },
  models: { name: 'Models', load: async () => (await import('./pages/models/models-page.js')).ModelsPage },
  spend: { name: 'Spend', load: async () => (await import('./pages/spend/spend-page.js')).SpendPage },
  batches: {
    name: 'Batches',
    load: async () => (await import('./pages/batches/batches-page.js')).BatchesPage,
  },
  keys: { name: 'Keys', load: async () => (await import('./pages/keys/keys-page.js')).KeysPage },
  playground: {
    name: 'Playground',
    load: async () => (await import('./pages/playground/playground-page.js')).PlaygroundPage,
    isFor: ({ grants }) => grants.some(({ role }) => role !== 'viewer'),
  },
  access: {
    name: 'Access',
    load: async () => (await import('./pages/access/access-page.js')).AccessPage,
    isFor: ({ grants }) => grants.some(({ role, workspaces }) => role === 'admin' && workspaces === null),
  },
  audit: {
    name: 'Audit',
    load: async () => (await import('./pages/audit/audit-page.js')).AuditPage,
    isFor: ({ grants }) => grants.some(({ role }) => role === 'admin'),
  },
};

export function App() {
  useEffect(() => {
    for (const { load } of Object.values(PAGES)) load().catch(() => {});
  }, []);
  const theme = useTheme();
  const { person, trouble, oidc, link, signIn, signOut, onEnded } = useSignedIn();
  if (person === undefined)
    return trouble === undefined ? null : <Empty title={trouble}>Trying again …</Empty>;
  if (link !== undefined) return <FollowLink link={link} oidc={oidc} person={person} onSignedIn={signIn} />;
  if (person === null) return <SignIn trouble={trouble} oidc={oidc} onSignedIn={signIn} />;
  if (person.grants.length === 0)
    return (
      <Empty title="You have no role here.">
        You are known as {person.name}, and none of your groups has a role. Ask an admin of this gateway.
      </Empty>
    );
  return <Console person={person} onEnded={onEnded} onSignOut={signOut} theme={theme} />;
}

interface ConsoleProps {
  person: Person;
  onEnded(): void;
  onSignOut(): void;
  theme: [Theme, (theme: Theme) => void];
}

function Console({ person, onEnded, onSignOut, theme }: ConsoleProps) {
  const place = usePlace();
  const [lost, setLost] = useState<{ at: number; what: string } | undefined>();
  const session = useMemo<Session>(() => {
    const report = (error: AdminError | undefined) =>
      setLost((before) =>
        error?.isAway ? { at: before?.at ?? Date.now(), what: whatIsLost(error) } : undefined,
      );
    return { client: new AdminClient(onEnded), report };
  }, [onEnded]);
  const page = Object.hasOwn(PAGES, place.page) ? PAGES[place.page] : undefined;
  return (
    <SessionContext.Provider value={session}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the page
      </button>
      <Navigation place={place} person={person} onSignOut={onSignOut} theme={theme} />
      <main id="main" tabIndex={-1}>
        <div class="alerts" aria-live="assertive">
          {lost && (
            <div class="notice bad lost">
              {lost.what} at {timeOfDay(lost.at)}. What is shown is from before; trying again …
            </div>
          )}
        </div>
        {page ? (
          <LazyPage key={place.page} place={place} load={page.load} />
        ) : (
          <Empty title="There is no such page.">
            <a href="#/live">Go to Live</a>
          </Empty>
        )}
      </main>
    </SessionContext.Provider>
  );
}

function pagesFor(person: Person): [page: string, PageEntry][] {
  return Object.entries(PAGES).filter(([, { isFor }]) => isFor?.(person) ?? true);
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
  if (loaded === undefined) return null;
  if (loaded === 'failed')
    return <Empty title="This page could not be loaded.">Reload when the gateway answers again.</Empty>;
  return <loaded.Page place={place} />;
}

function Navigation({
  place,
  person,
  onSignOut,
  theme: [theme, setTheme],
}: Omit<ConsoleProps, 'onEnded'> & { place: Place }) {
  const nav = useRef<HTMLElement>(null);
  // On a phone the bar is wider than the screen. Not scrollIntoView: that would also move where Tab goes on from.
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>(`[data-page="${CSS.escape(place.page)}"]`);
    if (nav.current && current)
      nav.current.scrollLeft = current.offsetLeft - (nav.current.clientWidth - current.offsetWidth) / 2;
  }, [place.page]);
  return (
    <header class="bar">
      <a class="brand" href="#/live">
        <img src="/console/icon.svg" alt="" width="26" height="26" />
        Sluice
      </a>
      <nav aria-label="Pages" ref={nav}>
        {pagesFor(person).map(([page, { name }]) => (
          <a
            key={page}
            href={formatPlace({ page })}
            data-page={page}
            aria-current={place.page === page ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <div class="bar-end">
        <label class="theme">
          <span>Theme</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            <option value="system">System</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
        {person.way !== 'proxy' && (
          <button type="button" class="quiet" title={`Signed in: ${person.name}`} onClick={onSignOut}>
            Sign out
          </button>
        )}
      </div>
    </header>
  );
}
