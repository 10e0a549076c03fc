/** Where in the console we are: `#/requests/req_1?workspace=demo`. It never holds a secret. */
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Place {
  page: string;
  /** The part of the address after the page's name. */
  item: string | undefined;
  query: Readonly<Record<string, string>>;
}

export function parsePlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...rest] = path.split('/');
  const item = rest.join('/');
  return {
    page: page || 'live',
    item: item === '' ? undefined : safelyDecoded(item),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function formatPlace({ page, item, query = {} }: Partial<Place> & { page: string }): string {
  const filled = Object.entries(query).filter(([, value]) => value !== '');
  const search = new URLSearchParams(filled).toString();
  return `#/${page}${item === undefined ? '' : `/${encodeURIComponent(item)}`}${search === '' ? '' : `?${search}`}`;
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => parsePlace(location.hash));
  // A layout effect runs before anybody sees the page, and so before a click can change the place.
  useLayoutEffect(() => {
    const follow = () => setPlace(parsePlace(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}

/** Filters replace the entry in the history: going back leaves the page, not the last letter typed. */
export function changeQuery(place: Place, change: Record<string, string>): void {
  history.replaceState(null, '', formatPlace({ ...place, query: { ...place.query, ...change } }));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function goTo(place: Partial<Place> & { page: string }): void {
  location.hash = formatPlace(place);
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
