import { useEffect, useRef } from 'preact/hooks';
import { formatPlace, type Place } from './location.js';
import { pageGroupsFor } from './pages.js';
import type { Person } from './signed-in.js';
import type { Theme } from './theme.js';
import { timeZones } from './time-zone.js';

interface NavigationProps {
  place: Place;
  person: Person;
  onSignOut(): void;
  theme: [Theme, (theme: Theme) => void];
  zone: [zone: string, choose: (zone: string) => void];
}

/** At the side of a wide screen, and at the top of a narrow one. */
export function Navigation({ place, person, onSignOut, theme: [theme, setTheme], zone }: NavigationProps) {
  const [chosenZone, chooseZone] = zone;
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
        {pageGroupsFor(person).map(({ title, pages }) => (
          <div key={title} class="nav-group">
            <p class="nav-title">{title}</p>
            {pages.map(([page, { name }]) => (
              <a
                key={page}
                href={formatPlace({ page })}
                data-page={page}
                aria-current={place.page === page ? 'page' : undefined}
              >
                {name}
              </a>
            ))}
          </div>
        ))}
      </nav>
      <div class="bar-end">
        <label class="setting">
          <span>Time zone</span>
          <select
            aria-label="Time zone"
            value={chosenZone}
            onChange={(event) => chooseZone(event.currentTarget.value)}
          >
            {timeZones().map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="setting">
          <span>Theme</span>
          <select
            aria-label="Theme"
            value={theme}
            onChange={(event) => setTheme(event.currentTarget.value as Theme)}
          >
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
