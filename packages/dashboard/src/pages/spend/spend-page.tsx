import type { Place } from '../../location.js';
import { Page } from '../../ui/page.js';

export function SpendPage(_: { place: Place }) {
  return <Page title="Spend">…</Page>;
}
