/** The time zone of every time in the console: the browser's, unless another one is chosen here. */
import { useState } from 'preact/hooks';

const KEPT_AS = 'time-zone';
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

let zone = kept();

function kept(): string {
  const name = localStorage.getItem(KEPT_AS);
  return name !== null && isZone(name) ? name : OWN;
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export function timeZone(): string {
  return zone;
}

export function useTimeZone(): [zone: string, choose: (zone: string) => void] {
  const [shown, setShown] = useState(zone);
  return [
    shown,
    (chosen) => {
      zone = chosen;
      if (chosen === OWN) localStorage.removeItem(KEPT_AS);
      else localStorage.setItem(KEPT_AS, chosen);
      setShown(chosen);
    },
  ];
}

/** The browser's own and UTC come first. */
export function timeZones(): string[] {
  return [...new Set([OWN, 'UTC', zone, ...Intl.supportedValuesOf('timeZone')])];
}

/** `2026-11-16T14:00`: what a clock on the wall shows then, in the chosen zone. */
export function wallClock(ms: number, timeZone = zone): string {
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return shown.format(ms).replace(' ', 'T');
}

/** The moment at which that clock shows `2026-11-16T14:00`, in ms. In the hour that summer time skips, one beside it. */
export function momentOf(text: string, timeZone = zone): number {
  const wanted = Date.parse(`${text}Z`);
  let ms = wanted;
  // The first guess may lie beyond a change of the clock.
  for (let tries = 0; tries < 2; tries++) ms += wanted - Date.parse(`${wallClock(ms, timeZone)}Z`);
  return ms;
}
