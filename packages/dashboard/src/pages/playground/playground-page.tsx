import type { Place } from '../../location.js';
import { Page } from '../../ui/page.js';

export function PlaygroundPage(_: { place: Place }) {
  return <Page title="Playground">…</Page>;
}
