import { render } from 'preact';
import { App } from './app.js';

const host = document.getElementById('app');
if (host) {
  // What was painted before this file came.
  host.replaceChildren();
  render(<App />, host);
}
