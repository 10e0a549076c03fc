import type { Place } from '../../location.js';
import { Page } from '../../ui/page.js';

export function RoutesPage(_: { place: Place }) {
  return <Page title="Routes">…</Page>;
}
