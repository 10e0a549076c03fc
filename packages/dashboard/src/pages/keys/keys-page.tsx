import type { Place } from '../../location.js';
import { Page } from '../../ui/page.js';

export function KeysPage(_: { place: Place }) {
  return <Page title="Keys">…</Page>;
}
