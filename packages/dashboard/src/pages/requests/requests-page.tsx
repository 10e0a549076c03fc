import type { Place } from '../../location.js';
import { Page } from '../../ui/page.js';

export function RequestsPage(_: { place: Place }) {
  return <Page title="Requests">…</Page>;
}
